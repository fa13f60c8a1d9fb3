// Keeps what runs up to date: the page is asked for again every second, and the parts marked as live are exchanged.
"use strict";
const SECOND = 1000;
let timer = 0;
let leaving = false; // a form has been sent: what comes next is its answer, and no reload may overtake it

document.addEventListener("submit", () => { leaving = true; });
addEventListener("pageshow", () => { leaving = false; });

function live(root) {
  return Array.from(root.querySelectorAll("[data-live]"));
}

// The parts as the server sent them last: what a person has opened since then is no change of theirs.
const shown = new Map(live(document).map((part) => [part.id, part.innerHTML]));

function exchange(part, html) {
  const open = new Set(Array.from(part.querySelectorAll("details[open] > summary"), (each) => each.textContent));
  part.innerHTML = html;
  shown.set(part.id, html);
  for (const each of part.querySelectorAll("details > summary")) {
    if (open.has(each.textContent)) each.parentElement.open = true;
  }
}

async function refresh(wanted) {
  clearTimeout(timer);
  if (leaving) return;
  if (!wanted && !live(document).some((part) => part.dataset.live === "on")) return;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
    if (answer.status === 403) {
      document.title = "Ended: " + document.title;
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (leaving) return;
    const next = live(page);
    if (live(document).some((part) => !next.find((other) => other.id === part.id))) {
      location.reload(); // it has become another page
      return;
    }
    for (const part of live(document)) {
      const fresh = next.find((other) => other.id === part.id);
      if (shown.get(part.id) !== fresh.innerHTML && !part.contains(document.activeElement)) exchange(part, fresh.innerHTML);
      part.dataset.live = fresh.dataset.live;
    }
    for (const step of document.querySelectorAll("[data-tick]")) {
      step.className = page.getElementById(step.id)?.className ?? step.className;
    }
    document.title = page.title;
  } catch {
    // the server is gone for the moment; it is asked again
  }
  timer = setTimeout(refresh, SECOND);
}

timer = setTimeout(refresh, SECOND);

// Roles that are changed stand in the address: what they make of the table is counted, and a reload keeps them.
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-roles]");
  if (!form) return;
  const address = new URL(form.dataset.roles, location.href);
  for (const box of form.querySelectorAll("input[type=radio]:checked")) {
    if (box.value !== box.closest("fieldset").dataset.was) address.searchParams.set(box.name, box.value);
  }
  history.replaceState(null, "", address);
  clearTimeout(timer);
  timer = setTimeout(refresh, SECOND / 2, true);
});

// A page that says what went wrong leads back to the form, with what was filled in.
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-back]") || history.length < 2) return;
  event.preventDefault();
  history.back();
});

// A wizard shows what it would make while its fields change.
let asked = 0;
document.addEventListener("input", async (event) => {
  const form = event.target.closest("form[data-preview]");
  if (!form || !form.checkValidity()) return;
  const mine = ++asked;
  const address = form.getAttribute("action") + "?" + new URLSearchParams(new FormData(form));
  const answer = await fetch(address, { credentials: "same-origin" });
  if (mine !== asked || !answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("preview");
  if (fresh) document.getElementById("preview").replaceChildren(...fresh.childNodes);
});

// What an l means, in percent of a group, while it is typed.
document.addEventListener("input", (event) => {
  const told = document.getElementById(event.target.dataset.share ?? "");
  const limit = Number(event.target.value);
  if (told) told.textContent = limit >= 1 ? (100 / limit).toFixed(1).replace(".0", "") + "%" : "100%";
});
