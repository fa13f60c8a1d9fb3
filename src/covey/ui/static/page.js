// Keeps what runs up to date: the page is asked for again every second, and the parts marked as live are exchanged.
"use strict";
const SECOND = 1000;

function live(root) {
  return Array.from(root.querySelectorAll("[data-live]"));
}

async function refresh() {
  if (!live(document).some((part) => part.dataset.live === "on")) return;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
    if (answer.status === 403) {
      document.title = "Ended: " + document.title;
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = live(page);
    if (live(document).some((part) => !next.find((other) => other.id === part.id))) {
      location.reload(); // it has become another page
      return;
    }
    for (const part of live(document)) {
      const fresh = next.find((other) => other.id === part.id);
      if (part.innerHTML !== fresh.innerHTML && !part.contains(document.activeElement)) part.innerHTML = fresh.innerHTML;
      part.dataset.live = fresh.dataset.live;
    }
  } catch {
    // the server is gone for the moment; it is asked again
  }
  setTimeout(refresh, SECOND);
}

setTimeout(refresh, SECOND);

// Several checkboxes are chosen with one.
document.addEventListener("change", (event) => {
  const box = event.target;
  if (!(box instanceof HTMLInputElement) || !("all" in box.dataset)) return;
  for (const other of box.closest("li").querySelectorAll("input[type=checkbox]")) other.checked = box.checked;
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
