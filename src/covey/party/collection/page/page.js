// Part 2: the page. Questions, consent, sending, the receipt. Answers never leave this page but as sealed letters, and
// are kept nowhere: the browser keeps the page's key, the sealed letters until there is a receipt, and the receipt.

const DATA = JSON.parse(document.getElementById("study").textContent);
const main = document.getElementById("main");
const KEPT = "covey-" + DATA.hash.slice(0, 32) + "-";
let language = DATA.language, invitation = null, memory = {};

const words = () => DATA.words[language] || DATA.words.en;
const say = (key, values = {}) => words()[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const inOurs = (texts) => texts[language] || texts[DATA.language] || Object.values(texts)[0] || "";
const labelOf = (question) => inOurs(question.label) || question.name.replace(/_/g, " ");

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function kept() {
  try { return JSON.parse(localStorage.getItem(KEPT + invitation.token)) || memory; } catch { return memory; }
}

function keep(changes) {
  memory = {...kept(), ...changes};
  try { localStorage.setItem(KEPT + invitation.token, JSON.stringify(memory)); } catch { /* it stays in this tab */ }
}

function show(name, ...children) {
  document.documentElement.lang = DATA.words[language] ? language : "en";
  document.title = inOurs(DATA.title) || DATA.study;
  const heading = el("h1", {tabindex: "-1"}, document.title);
  main.replaceChildren(languages(name), heading, ...children, aboutThisPage());
  main.dataset.page = name;
  heading.focus({preventScroll: true});
}

function languages(name) {
  if (DATA.languages.length < 2 || name === "sending" || name === "waiting") return "";
  return el("nav", {"aria-label": say("language")}, ...DATA.languages.map((each) => el("button", {
    type: "button", lang: each, "aria-pressed": String(each === language),
    onclick: () => {
      const given = name === "form" ? rawAnswers() : null;
      language = each;
      try { localStorage.setItem("covey-language", each); } catch { /* for this visit only */ }
      open(given);
    }}, new Intl.DisplayNames([each], {type: "language"}).of(each))));
}

function aboutThisPage() {
  const spaced = (text) => text.replace(/(.{4})(?=.)/g, "$1 ");
  const row = (name, value) => [el("dt", {}, name), el("dd", {class: "hash"}, value)];
  return el("details", {class: "about"}, el("summary", {}, say("aboutPage")),
    el("p", {}, say("aboutCode")), el("p", {}, say("aboutCheck")), el("pre", {}, `covey collect page study.toml --check ${location.origin === "null" ? DATA.web : location.origin}`),
    el("dl", {}, ...row(say("program"), spaced(DATA.program)), ...row(say("studyHash"), spaced(DATA.hash)),
      ...row(DATA.collector.name, spaced(DATA.collector.fingerprint)),
      ...DATA.trustees.flatMap((each) => row(each.name, spaced(each.fingerprint)))));
}

const message = (key, kind = "note") => el("p", {class: kind, role: kind === "wrong" ? "alert" : "status"}, say(key));

// -- the words before consent

function statement() {
  const names = (each) => each.map((question) => "“" + labelOf(question) + "”").join(", ");
  const grouped = DATA.questions.filter((each) => each.quasi !== null);
  const exact = DATA.questions.filter((each) => each.quasi === null);
  const count = DATA.trustees.length, values = {count, k: DATA.k, others: DATA.k - 1, collector: inOurs(DATA.collector.label) || DATA.collector.name,
    needed: Math.floor(count / 2) + 1, quasi: names(grouped), exact: names(exact),
    names: DATA.trustees.map((each) => inOurs(each.label) || each.name).join("; ")};
  const point = (key) => el("li", {}, say(key, values));
  return el("section", {}, el("h2", {}, say("what")),
    el("h3", {}, say("leavesTitle")), el("ul", {}, point("leaves"), point("trustees")),
    el("h3", {}, say("publishedTitle")), el("ul", {}, point("publishedGrouped"), exact.length ? point("publishedExact") : null),
    el("h3", {}, say("nobodyTitle")), el("ul", {}, point("nobody"), point("once")),
    el("h3", {}, say("limitsTitle")), el("ul", {}, point("worst"), DATA.alike ? point("alike") : null, point("friends"), point("code")));
}

// -- the questions

function hint(question) {
  if (question.control === "number" && question.count !== null)
    return say(question.unit === "1" ? "hintWhole" : "hintNumber", {low: question.from, high: question.to, unit: question.unit});
  if (question.control === "number") return say("hintAnyNumber");
  if (question.control === "born") return say("hintBorn", {on: question.on});
  return question.control === "text" ? say("hintText") : "";
}

function field(question, number) {
  const id = "q" + number, told = hint(question);
  const shown = (value) => (question.answers[language] || question.answers[DATA.language] || {})[value] || value;
  const wrong = el("p", {class: "wrong", id: id + "-wrong", hidden: true});
  const about = [told ? el("p", {class: "hint", id: id + "-hint"}, told) : null, wrong];
  const described = (told ? id + "-hint " : "") + id + "-wrong";
  const unsaid = question.optional ? el("label", {class: "choice"}, el("input", {type: "checkbox", id: id + "-unsaid"}), " " + say("unsaid")) : null;
  if (question.control === "choice" && question.values.length <= 7) {
    const choice = (value, text, place) => el("label", {class: "choice"},
      el("input", {type: "radio", name: id, id: place ? null : id, value}), " " + text);
    return el("div", {class: "question", "data-question": question.name}, el("fieldset", {"aria-describedby": described},
      el("legend", {}, labelOf(question)), ...about, ...question.values.map((value, place) => choice(value, shown(value), place)),
      question.optional ? choice("\u0000", say("unsaid"), 1) : null));
  }
  let control;
  if (question.control === "choice") {
    control = el("select", {id, "aria-describedby": described}, el("option", {value: ""}, say("choose")),
      ...question.values.map((value) => el("option", {value}, shown(value))),
      question.optional ? el("option", {value: "\u0000"}, say("unsaid")) : null);
  } else {
    const dated = question.control === "date" || question.control === "born";
    control = el("input", {id, type: dated ? "date" : "text", autocomplete: "off", "aria-describedby": described,
      inputmode: question.control === "number" ? (question.unit === "1" ? "numeric" : "decimal") : null,
      min: question.control === "date" ? question.from : null, max: question.control === "date" ? question.to : null});
  }
  return el("div", {class: "question", "data-question": question.name}, el("label", {for: id}, labelOf(question)), ...about, control,
    question.control === "choice" ? null : unsaid);
}

// What stands in the fields: a text, "" for nothing yet, null for "rather not say".
function rawAnswers() {
  return DATA.questions.map((question, number) => {
    const id = "q" + number, unsaid = document.getElementById(id + "-unsaid");
    if (unsaid && unsaid.checked) return null;
    const picked = document.querySelector(`input[name="${id}"]:checked`), control = document.getElementById(id);
    const value = picked ? picked.value : control.type === "radio" ? "" : control.value;
    return value === "\u0000" ? null : value;
  });
}

function fill(given) {
  given.forEach((value, number) => {
    const id = "q" + number, spelled = value === null ? "\u0000" : value, unsaid = document.getElementById(id + "-unsaid");
    if (value === null && unsaid) { unsaid.checked = true; return; }
    const picked = Array.from(document.getElementsByName(id)).find((each) => each.value === spelled);
    if (picked) picked.checked = true;
    else if (document.getElementById(id).type !== "radio") document.getElementById(id).value = spelled;
  });
}

function form(given) {
  const agreed = el("input", {type: "checkbox", id: "agree"}), wrong = el("div", {id: "summary", tabindex: "-1"});
  const about = inOurs(DATA.about);
  show("form", ...(about ? about.split("\n").map((line) => el("p", {}, line)) : []), statement(),
    el("form", {novalidate: true, onsubmit: (event) => { event.preventDefault(); submit(); }}, el("h2", {}, say("questions")), wrong,
      ...DATA.questions.map(field), el("p", {class: "agree"}, el("label", {class: "choice"}, agreed, " " + say("consent"))),
      el("button", {class: "send"}, say("send"))));
  if (given) fill(given);
}

function submit() {
  const answers = {}, problems = [];
  rawAnswers().forEach((raw, number) => {
    const question = DATA.questions[number], id = "q" + number, wrong = document.getElementById(id + "-wrong");
    wrong.hidden = true;
    document.getElementById(id).removeAttribute("aria-invalid");
    try { answers[question.name] = readAnswer(question, raw); } catch (error) {
      wrong.textContent = say("wrong_" + error.message, {low: question.from, high: question.to});
      wrong.hidden = false;
      document.getElementById(id).setAttribute("aria-invalid", "true");
      problems.push([id, labelOf(question).replace(/([^?!.:])$/, "$1:") + " " + wrong.textContent]);
    }
  });
  if (!document.getElementById("agree").checked) problems.push(["agree", say("wrong_agree")]);
  const summary = document.getElementById("summary");
  summary.replaceChildren(...(problems.length ? [el("div", {class: "wrong", role: "alert"}, el("p", {}, say("lookAt")),
    el("ul", {}, ...problems.map(([id, text]) => el("li", {}, el("a", {href: "#" + id, onclick: (event) => {
      event.preventDefault(); document.getElementById(id).focus(); }}, text)))))] : []));
  if (problems.length) summary.focus();
  else send(answers).catch(failed);
}

// -- sending

const where = (path) => (location.protocol.startsWith("http") && location.origin === DATA.web ? "" : DATA.web) + path;

class Refused extends Error { }

const reach = (method, path, body, headers) => DATA.relay ? overRelay(method, path, body, headers)
  : fetch(where(path), {method, body, headers, credentials: "omit", redirect: "error"});

// The same at a collector without an address: the request is a letter to it, the answer a letter to this page.
async function overRelay(method, path, body = "", headers = {}) {
  const name = hex(random(16)), fresh = await keyPair("X25519", random(32)), head = JSON.stringify({method, path, headers});
  const context = (kind) => ["collect page " + kind, unhex(DATA.hash), name];
  const content = join(fresh.shown, utf8(head + "\n"), typeof body === "string" ? utf8(body) : body);
  const answer = await carried(name, await seal(content, unhex(DATA.relay.key), random(32), context("request")));
  const told = await unseal(answer, fresh, context("answer")), status = 256 * told[0] + told[1];
  return {status, ok: status < 300, json: async () => JSON.parse(new TextDecoder().decode(told.slice(2)))};
}

// One message to the broker (NATS) that the study names, and the one that comes back.
function carried(name, letter) {
  const {url, user, seed, from, to} = DATA.relay;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url), timer = setTimeout(() => end(reject, new Error("late")), 20000);
    const end = (then, what) => { clearTimeout(timer); socket.close(); then(what); };
    const hello = async (info) => {
      const {own} = await keyPair("Ed25519", unhex(seed));
      const signed = new Uint8Array(await crypto.subtle.sign({name: "Ed25519"}, own, utf8(info.nonce)));
      const sig = btoa(String.fromCharCode(...signed)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
      const me = {verbose: false, pedantic: false, lang: "javascript", version: "1", protocol: 1, echo: false, nkey: user, sig};
      socket.send(join(utf8(`CONNECT ${JSON.stringify(me)}\r\nSUB ${to.replace("*", name)} 1\r\n`),
        utf8(`PUB ${from.replace("*", name)} ${letter.length}\r\n`), letter, utf8("\r\n")));
    };
    let held = new Uint8Array(0), greeted = false;
    socket.binaryType = "arraybuffer";
    socket.onclose = socket.onerror = () => end(reject, new Error("cut"));
    socket.onmessage = (event) => {
      held = join(held, new Uint8Array(event.data));
      for (let stop; (stop = held.indexOf(10)) >= 0;) {
        const line = new TextDecoder().decode(held.slice(0, stop - 1)), rest = held.slice(stop + 1);
        if (line.startsWith("MSG ")) {
          const size = Number(line.split(" ").pop());
          if (rest.length >= size + 2) end(resolve, rest.slice(0, size));
          return;
        }
        held = rest;
        if (line.startsWith("INFO ") && !greeted) greeted = true, hello(JSON.parse(line.slice(5))).catch((error) => end(reject, error));
        else if (line.startsWith("PING")) socket.send(utf8("PONG\r\n"));
        else if (line.startsWith("-ERR")) end(reject, new Error(line));
      }
    };
  });
}

function pause(seconds) {
  return new Promise((go) => { addEventListener("online", go, {once: true}); setTimeout(go, seconds * 1000); });
}

// The collector's answer; without a connection it is asked again until there is one.
async function ask(path, content, headers = {}) {
  for (let wait = 2; ; wait = Math.min(2 * wait, 30)) {
    let answer = null;
    try { answer = await reach("POST", path, content, {...headers, "Covey-Protocol": String(DATA.protocol)}); } catch { /* no connection */ }
    if (answer && answer.status < 429) {
      const said = await answer.json();
      if (!answer.ok) throw new Refused(said.code);
      return said;
    }
    show("waiting", message("offline"));
    await pause(wait);
  }
}

async function send(answers) {
  show("sending", message("sealing"));
  if (!kept().seed) keep({seed: hex(random(32))});
  const {own, shown} = await keyPair("Ed25519", unhex(kept().seed));
  const sign = async (...labels) => hex(new Uint8Array(await crypto.subtle.sign({name: "Ed25519"}, own, spell(...labels))));
  if (!kept().letter) {
    const proof = await sign("covey enrolment/1", DATA.hash, DATA.collector.fingerprint, new Uint8Array(0), invitation.secret, await digest("SHA-256", shown));
    const said = await ask("/api/enrol", JSON.stringify({study: DATA.hash, secret: hex(invitation.secret), key: hex(shown), signature: proof}));
    const keys = await trusteeKeys(DATA, said.keys);
    if (!keys) throw new Refused("false");
    const written = await writeLetter(DATA, keys, said.handle, recordWord(DATA, answers), {own, shown});
    keep({handle: said.handle, letter: {parts: written.parts.map(hex), signature: hex(written.signature)}});
  }
  const {handle, letter} = kept(), {parts, signature} = letter;
  const answer = {parts: parts.map(unhex), key: shown, signature: unhex(signature)};
  const content = pack(answer), whole = await digest("SHA-256", content);
  if (main.dataset.page !== "waiting") show("sending", message("sending"));
  const said = await ask("/api/deliver", content, {"Content-Type": "application/octet-stream", "Covey-Key": hex(shown),
    "Covey-Digest": hex(whole), "Covey-Signature": await sign("covey delivery/1", DATA.hash, handle, whole)});
  const line = await boardLine(handle, answer);
  if (said.line !== hex(line) || !await receiptHolds(DATA, handle, line, unhex(said.signature))) throw new Refused("false");
  keep({seed: null, letter: null, receipt: {handle, how: "delivered", sentence: say("done"), study_hash: DATA.hash,
    line: said.line, signature: said.signature}});
  receipt();
}

function failed(error) {
  const code = error instanceof Refused ? error.message : error instanceof DOMException ? "old" : "refused";
  closed(words()["page_" + code] ? code : "refused");
  if (!(error instanceof Refused)) console.error(error);
}

function closed(code) {
  show(code, el("h2", {}, say("title_" + code)), el("p", {class: "note"}, say("page_" + code)));
}

// -- the receipt

function receipt() {
  const has = kept().receipt, result = el("p", {class: "note", role: "status", id: "counted"});
  const file = "data:application/json," + encodeURIComponent(JSON.stringify(has, null, 2));
  const row = (name, value) => [el("dt", {}, name), el("dd", {class: "hash"}, value)];
  show("receipt", el("h2", {}, say("title_receipt")), el("p", {class: "note"}, say("done")), el("p", {}, say("keepIt")),
    el("dl", {id: "receipt"}, ...row(say("study"), DATA.study), ...row(say("handle"), has.handle), ...row(say("line"), has.line),
      ...row(say("signature"), has.signature), ...row(say("studyHash"), has.study_hash)),
    el("p", {class: "actions"}, el("button", {type: "button", onclick: () => print()}, say("print")),
      el("a", {class: "button", href: file, download: "receipt.json"}, say("save")),
      el("button", {type: "button", id: "check", onclick: () => check(has.line, result)}, say("check"))), result);
}

async function check(line, result) {
  result.className = "note";
  let word = "later";
  try {
    const answer = await reach("GET", "/board.json");
    if (answer.ok) word = await onBoard(DATA, await answer.json(), line);
    else if (answer.status !== 404) word = "unreachable";
  } catch { word = "unreachable"; }
  if (word === "missing" || word === "false") result.className = "wrong";
  result.textContent = say("board_" + word);
}

// -- where a visit begins

function askForInvitation(unknown) {
  const control = el("input", {id: "invitation", type: "text", autocomplete: "off", spellcheck: "false"});
  show("invitation", unknown ? message("wrong_invitation", "wrong") : null, el("form", {onsubmit: (event) => {
    event.preventDefault(); begin(control.value); }}, el("div", {class: "question"}, el("label", {for: "invitation"}, say("invitation")),
    el("p", {class: "hint"}, say("hintInvitation")), control), el("button", {class: "send"}, say("goOn"))));
}

async function begin(text) {
  if (!text) { askForInvitation(false); return; }
  invitation = await readInvitation(text);
  if (!invitation) { askForInvitation(true); return; }
  memory = {};
  await open(null);
}

async function open(given) {
  if (!invitation) { askForInvitation(false); return; }
  const has = kept();
  if (has.receipt) { receipt(); return; }
  if (invitation.study !== DATA.hash || invitation.fingerprint !== DATA.collector.fingerprint) { closed("foreign"); return; }
  if (has.letter) { await send(null).catch(failed); return; }
  if (given) { form(given); return; }
  show("sending", message("asking"));
  const {state} = await ask("/api/state", JSON.stringify({invitation: invitation.token}));
  if (state === "open" || (state === "used" && has.seed)) form(null);
  else closed(state);
}

async function start() {
  try { language = localStorage.getItem("covey-language") || ""; } catch { language = ""; }
  if (!DATA.languages.includes(language)) {
    const wanted = (navigator.languages || []).flatMap((each) => [each, each.split("-")[0]]);
    language = wanted.find((each) => DATA.languages.includes(each)) || DATA.language;
  }
  try { await keyPair("Ed25519", new Uint8Array(32)); await keyPair("X25519", new Uint8Array(32)); } catch { closed("old"); return; }
  addEventListener("hashchange", () => begin(location.hash.slice(1)).catch(failed));
  await begin(location.hash.slice(1)).catch(failed);
}

start();
