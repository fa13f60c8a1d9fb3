"use strict";
// Part 1: an answer as a word, its shares and a sealed letter. The Python side is the reference: this gives the same bytes
// as covey.protocols.peel.letters, from the same random bytes (tests/browser/test_vectors.py).

const SCALE = 10n ** 9n, TEXT = 64;
const PKCS8 = {X25519: "302e020100300506032b656e04220420", Ed25519: "302e020100300506032b657004220420"};

const utf8 = (text) => new TextEncoder().encode(text);
const unhex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const random = (size) => crypto.getRandomValues(new Uint8Array(size));
const digest = async (name, bytes) => new Uint8Array(await crypto.subtle.digest(name, bytes));

function join(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
}

function unbase64url(text) {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(plain, (each) => each.charCodeAt(0));
}

// One byte string for each sequence of labels: texts, bytes and whole numbers (covey.crypto.rng.spell).
function spell(...labels) {
  return join(...labels.flatMap((label) => {
    const kind = typeof label === "string" ? "s" : typeof label === "number" ? "i" : "b";
    const content = kind === "b" ? label : utf8(String(label));
    const length = new Uint8Array(8);
    new DataView(length.buffer).setBigUint64(0, BigInt(content.length));
    return [utf8(kind), length, content];
  }));
}

// The word of a record: for each grouped column the digits of its label, then what is published as it is.
function recordWord(data, answers) {
  let word = 0n, width = 0;
  for (const name of data.word) {
    const question = data.questions.find((each) => each.name === name), {code, text} = answers[name];
    word = word << BigInt(question.bits) | cell(question, code, text);
    width += question.bits;
  }
  return {word, width};
}

function cell(question, code, text) {
  if (question.quasi !== null) {
    let at = 0, left = code;
    while (left >= question.words[at][1]) left -= question.words[at++][1];
    return BigInt("0x" + question.words[at][0]) + BigInt(left);
  }
  if (question.listed) return BigInt(code);
  const raw = utf8(text);
  if (raw.length > TEXT || text.includes("\0")) throw new Error("too long");
  return BigInt("0x" + hex(join(raw, new Uint8Array(TEXT - raw.length))));
}

// Three shares of a word, of which two say nothing about it.
function shared({word, width}, drawn) {
  const size = Math.ceil(width / 8), first = drawn.slice(0, size), second = drawn.slice(size);
  const whole = unhex(word.toString(16).padStart(2 * size, "0"));
  return [first, second, whole.map((byte, at) => byte ^ first[at] ^ second[at])];
}

// A key from 32 random bytes, with its public half.
async function keyPair(kind, seed) {
  const uses = kind === "X25519" ? ["deriveBits"] : ["sign"];
  const own = await crypto.subtle.importKey("pkcs8", join(unhex(PKCS8[kind]), seed), {name: kind}, true, uses);
  return {own, shown: unbase64url((await crypto.subtle.exportKey("jwk", own)).x)};
}

// A letter that its trustee alone can open, and only for this context: X25519, HKDF-SHA256, AES-256-GCM.
async function seal(content, to, seed, context) {
  const {own, shown} = await keyPair("X25519", seed);
  const theirs = await crypto.subtle.importKey("raw", to, {name: "X25519"}, false, []);
  return join(shown, await crypt("encrypt", content, own, theirs, join(shown, to), context));
}

// The content of a letter to a key of ours, under the context that it was sealed with.
async function unseal(sealed, {own, shown}, context) {
  const head = sealed.slice(0, 32), theirs = await crypto.subtle.importKey("raw", head, {name: "X25519"}, false, []);
  return crypt("decrypt", sealed.slice(32), own, theirs, join(head, shown), context);
}

// A key seals one letter, so that the nonce may be zero.
async function crypt(what, content, own, theirs, salt, context) {
  const agreed = await crypto.subtle.deriveBits({name: "X25519", public: theirs}, own, 256);
  const material = await crypto.subtle.importKey("raw", agreed, "HKDF", false, ["deriveKey"]);
  const how = {name: "HKDF", hash: "SHA-256", salt, info: spell("covey letter/1", ...context)};
  const key = await crypto.subtle.deriveKey(how, material, {name: "AES-GCM", length: 256}, false, [what]);
  return new Uint8Array(await crypto.subtle[what]({name: "AES-GCM", iv: new Uint8Array(12)}, key, content));
}

// The keys to which letters are sealed, each signed by its trustee; null if one is not.
async function trusteeKeys(data, shown) {
  const keys = [];
  for (const trustee of data.trustees) {
    const own = shown.find((each) => each.trustee === trustee.name);
    const said = own && spell("covey letter key/1", data.hash, trustee.name, unhex(own.key));
    if (!own || !await verifies(trustee.key, unhex(own.signature), said)) return null;
    keys.push(unhex(own.key));
  }
  return keys;
}

// A record's letter: a sealed part for each trustee, in the order of their names, and the signature of the enrolment.
async function writeLetter(data, keys, handle, record, {own, shown}, draw = random) {
  const shares = shared(record, draw(2 * Math.ceil(record.width / 8))), parts = [];
  for (const [place, trustee] of data.trustees.entries()) {
    const context = ["collect answer", unhex(data.hash), handle, shown, trustee.name];
    parts.push(await seal(join(shares[place], shares[(place + 1) % 3]), keys[place], draw(32), context));
  }
  const said = spell("covey answer/1", data.hash, handle, ...await digests(parts));
  return {parts, key: shown, signature: new Uint8Array(await crypto.subtle.sign({name: "Ed25519"}, own, said))};
}

// The letter as it is handed in, in MessagePack.
function pack({parts, key, signature}) {
  const raw = (bytes) => [Uint8Array.from(bytes.length < 256 ? [0xc4, bytes.length] : [0xc5, bytes.length >> 8, bytes.length & 255]), bytes];
  return join(Uint8Array.of(0x93, 0x90 | parts.length), ...parts.flatMap(raw), ...raw(key), ...raw(signature));
}

async function digests(parts) {
  const found = [];
  for (const part of parts) found.push(await digest("SHA-256", part));
  return found;
}

// The board's line for a letter.
async function boardLine(handle, {parts}) {
  return digest("SHA-256", spell("collect line/1", handle, ...await digests(parts)));
}

async function verifies(key, signature, content) {
  const shown = await crypto.subtle.importKey("raw", unhex(key), {name: "Ed25519"}, false, ["verify"]);
  return crypto.subtle.verify({name: "Ed25519"}, shown, signature, content);
}

const receiptHolds = (data, handle, line, signature) =>
  verifies(data.collector.key, signature, spell("covey receipt/1", data.hash, handle, line));

// A word for what a board says of a line: counted, missing, or false if the collector did not sign it.
async function onBoard(data, board, line) {
  const lines = [...board.lines].sort();
  const whole = await digest("SHA-256", spell("collect board/1", unhex(data.hash), ...lines.map(unhex)));
  const signed = await verifies(data.collector.key, unhex(board.signature), spell("covey board/1", data.hash, whole));
  return hex(whole) !== board.board || !signed ? "false" : lines.includes(line) ? "counted" : "missing";
}

// An invitation's parts: a line "covey-…", or a link that ends with one.
async function readInvitation(text) {
  const line = text.replace(/\s/g, "").split("#").pop();
  if (!/^covey-[A-Za-z0-9_-]{100,2000}$/.test(line)) return null;
  const raw = unbase64url(line.slice(6)), body = raw.slice(0, -3);
  if (hex((await digest("SHA-256", body)).slice(0, 3)) !== hex(raw.slice(-3)) || body[0] !== 0x95) return null;
  let at = 1;
  const bin = () => { const size = body[at + 1]; at += 2 + size; return body.slice(at - size, at); };
  at += body[at] === 0xd9 ? 2 + body[at + 1] : 1 + (body[at] & 31);  // the address, which a page does not need
  const fingerprint = bin(), study = bin();
  const wide = {0xce: 5, 0xcf: 9, 0xcd: 3, 0xcc: 2}[body[at]] || 1;
  at += wide;  // the last moment, which the collector knows
  const secret = bin();
  if (fingerprint.length !== 32 || study.length !== 32 || secret.length !== 16) return null;
  return {fingerprint: hex(fingerprint), study: hex(study), secret,
          token: hex(await digest("SHA-256", join(utf8("covey invitation/1 "), secret)))};
}

// A decimal number as a whole number of billionths; null for anything else.
function scaled(text) {
  const found = /^([+-]?)(\d{1,18})(?:[.,](\d{0,9}))?$/.exec(text.trim());
  if (!found) return null;
  const size = BigInt(found[2]) * SCALE + BigInt((found[3] || "").padEnd(9, "0"));
  return found[1] === "-" ? -size : size;
}

// One spelling for each number, as covey.cells.spell has it.
function spelledNumber(value) {
  const size = value < 0n ? -value : value;
  const rest = (size % SCALE).toString().padStart(9, "0").replace(/0+$/, "");
  return (value < 0n ? "-" : "") + (size / SCALE) + (rest ? "." + rest : "");
}

function numbered(question, value) {
  const low = scaled(question.low), unit = scaled(question.unit);
  const top = question.top === null ? null : scaled(question.top);
  const bottom = question.bottom === null ? null : scaled(question.bottom);
  if (question.round) {
    const size = value < 0n ? -value : value, near = (2n * size + unit) / (2n * unit) * unit;
    value = value < 0n ? -near : near;
  }
  if (top !== null && value >= top) return {code: question.count - 1, text: ">=" + question.top};
  if (bottom !== null && value <= bottom) return {code: 0, text: "<=" + question.bottom};
  const code = Number((value - low) / unit);
  if (value < low || (value - low) % unit || code >= question.count) throw new Error("number");
  return {code, text: spelledNumber(value)};
}

function dayNumber(text) {
  const found = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text + "T00:00:00Z") : NaN;
  if (Number.isNaN(found) || new Date(found).toISOString().slice(0, 10) !== text) throw new Error("date");
  return Math.round(found / 86400000);
}

function yearsOn(born, on) {
  return Number(on.slice(0, 4)) - Number(born.slice(0, 4)) - (on.slice(5) < born.slice(5) ? 1 : 0);
}

// The answer to a question, from what stands in its field; null is "rather not say". Throws a word for what is wrong.
function readAnswer(question, raw) {
  let text = raw === null ? "" : raw.trim().normalize("NFC");
  if (/^'(?![+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$)[=+\-@]/.test(text)) text = text.slice(1);
  if (question.null.includes(text)) text = "";
  if (text === "") {
    if (!question.optional || raw === "") throw new Error("required");
    return {code: question.count, text: ""};
  }
  if (question.control === "choice") {
    const code = question.values.indexOf(text);
    if (code < 0) throw new Error("required");
    return {code, text};
  }
  if (question.control === "born") {
    dayNumber(text);
    return numbered(question, BigInt(yearsOn(text, question.on)) * SCALE);
  }
  if (question.control === "date") {
    const code = dayNumber(text) - (question.count === null ? 0 : dayNumber(question.low));
    if (question.count !== null && (code < 0 || code >= question.count)) throw new Error("date");
    return {code, text};
  }
  if (question.control === "number") {
    const value = scaled(text);
    if (value === null) throw new Error("number");
    return question.count === null ? {code: 0, text: spelledNumber(value)} : numbered(question, value);
  }
  if (/[\u0000-\u001f\u007f]/.test(text) || utf8(text).length > TEXT) throw new Error("text");
  return {code: 0, text};
}
