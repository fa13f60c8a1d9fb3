"""A page as a keyboard and a screen reader have it: names, headings and landmarks, an order, a focus that is seen."""

from __future__ import annotations

from playwright.sync_api import ElementHandle, Locator, Page

_PROBLEMS = """() => {
  const found = [];
  const all = (what) => Array.from(document.querySelectorAll(what));
  const say = (each, what) => found.push(what + ": " + each.outerHTML.slice(0, 120));
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title.trim()) found.push("no title");
  for (const [what, many] of [["h1", 1], ["main", 1], ["header", 1], ["footer", 1]]) {
    if (all(what).length !== many) found.push(all(what).length + " times " + what);
  }
  let before = 1;
  for (const each of all("h1, h2, h3, h4")) {
    const level = Number(each.tagName[1]);
    if (level > before + 1) say(each, "a heading without one above it");
    before = level;
  }
  const ids = all("[id]").map((each) => each.id);
  for (const each of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) found.push("twice the id " + each);
  for (const name of ["for", "aria-labelledby", "aria-describedby", "form"]) {
    for (const each of all("[" + name + "]")) {
      for (const id of each.getAttribute(name).split(" ")) if (!ids.includes(id)) say(each, name + " leads nowhere");
    }
  }
  for (const each of all("img:not([alt]), svg:not([aria-label]):not([aria-hidden])")) say(each, "a silent picture");
  for (const each of all("[tabindex]")) if (Number(each.getAttribute("tabindex")) > 0) say(each, "an own order");
  for (const each of all("table")) {
    const heads = Array.from(each.querySelectorAll("th"));
    if (!heads.length || heads.some((head) => !head.scope)) say(each, "a table without heads, or heads without scope");
  }
  for (const each of all("input[type=radio]")) {
    if (!each.closest("fieldset")?.querySelector("legend")?.textContent.trim()) say(each, "a choice, and of what?");
  }
  for (const each of all("[data-live]:not([aria-live]):not(#typed)")) say(each, "silent");
  if (document.documentElement.scrollWidth > innerWidth) found.push("wider than the window");
  return found;
}"""
_FOCUS = """(target) => {
  const at = document.activeElement, what = at.outerHTML.slice(0, 120);
  const there = at === target || (target.type === "radio" && at.name === target.name && at.form === target.form);
  if (at === document.body) return [there, ""];
  const shown = at.matches(".pill input") ? at.nextElementSibling : at;
  const style = getComputedStyle(shown), box = shown.getBoundingClientRect();
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return [there, "no focus is seen: " + what];
  const middle = (low, high, most) => (Math.max(low, 0) + Math.min(high, most)) / 2;
  const [x, y] = [middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight)];
  const top = document.elementFromPoint(x, y);
  const seen = top && (shown.contains(top) || top.contains(shown) || at.contains(top) || at === top);
  return [there, seen ? "" : "a focus behind something else, or outside of the window: " + what];
}"""


def assert_readable(page: Page) -> None:
    """Asserts that a screen reader finds its way: everything that can be used has a name."""
    problems = list(page.evaluate(_PROBLEMS))
    session = page.context.new_cdp_session(page)
    for node in session.send("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        focusable = any(each["name"] == "focusable" and each["value"]["value"] for each in node.get("properties", ()))
        named = node["ignored"] or str(node.get("name", {}).get("value", "")).strip()
        if focusable and not named and role not in ("RootWebArea", "main"):
            problems.append(f"a {role} without a name")
    session.detach()
    assert problems == [], page.url


def tab_to(page: Page, wanted: Locator) -> ElementHandle:
    """Presses Tab until the focus is there, or on its group of choices; on the way it is always seen."""
    target = wanted.element_handle()
    page.wait_for_load_state()  # a page that is read already may still wait for its style
    for _ in range(300):
        page.keyboard.press("Tab")
        there, problem = page.evaluate(_FOCUS, target)
        assert not problem, problem
        if there:
            return target
    raise AssertionError(f"Tab does not lead to {wanted}")


def press(page: Page, wanted: Locator) -> None:
    """Goes to a link or a button by Tab, and presses Enter."""
    tab_to(page, wanted)
    page.keyboard.press("Enter")


def choose(page: Page, wanted: Locator) -> None:
    """Goes to a group of choices by Tab, and to one of them by arrows."""
    target = tab_to(page, wanted)
    for _ in range(10):
        if target.is_checked():
            return
        page.keyboard.press("ArrowRight")
    raise AssertionError(f"arrows do not lead to {wanted}")


def write(page: Page, wanted: Locator, text: str) -> None:
    """Goes to a field by Tab, and writes over what stands there."""
    tab_to(page, wanted)
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
