"use strict";
// Part 1: an answer as numbers, shares and sealed letters. The Python side is the reference: this gives the same bytes
// as covey.protocols.collect_peel.letters and .layout, from the same random bytes (tests/browser/test_vectors.py).

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;  // of ristretto255
const SCALE = 10n ** 9n, PIECE = 31, PIECES = 2;
const PKCS8 = {X25519: "302e020100300506032b656e04220420", Ed25519: "302e020100300506032b657004220420"};

const utf8 = (text) => new TextEncoder().encode(text);
const unhex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const random = (size) => crypto.getRandomValues(new Uint8Array(size));
const digest = async (name, bytes) => new Uint8Array(await crypto.subtle.digest(name, bytes));
const modulo = (number) => ((number % ORDER) + ORDER) % ORDER;

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

function littleEndian(bytes) {
  return bytes.length ? BigInt("0x" + hex(bytes.slice().reverse())) : 0n;
}

function packed(number) {
  return unhex(number.toString(16).padStart(64, "0")).reverse();
}

// The number of a label: a hash of its column and node.
async function labelNumber(study, column, node) {
  const whole = spell("covey number/1", "collect label", unhex(study), column, node);
  return littleEndian(await digest("SHA-512", whole)) % ORDER;
}

// A text that the study does not list, cut into numbers.
function pieces(text) {
  const raw = utf8(text);
  if (raw.length > PIECE * PIECES || text.includes("\0")) throw new Error("too long");
  const padded = join(raw, new Uint8Array(PIECE * PIECES - raw.length));
  return Array.from({length: PIECES}, (_, place) => littleEndian(padded.slice(place * PIECE, (place + 1) * PIECE)));
}

// The numbers of a record: for each grouped column its label at each level, then what is published as it is.
async function recordNumbers(data, answers) {
  const found = [], after = [];
  for (const question of data.questions) {
    const {code, text} = answers[question.name];
    if (question.quasi === null) {
      after.push(...(question.listed ? [BigInt(code)] : pieces(text)));
      continue;
    }
    const nodes = [code];
    for (const runs of question.up) {
      let at = 0, left = code;
      while (left >= runs[at + 1]) { left -= runs[at + 1]; at += 2; }
      nodes.push(runs[at]);
    }
    for (const node of nodes) found.push(await labelNumber(data.hash, question.quasi, node));
  }
  return [...found, ...after];
}

function power(base, exponent) {
  let answer = 1n;
  for (base = modulo(base); exponent; exponent >>= 1n, base = base * base % ORDER)
    if (exponent & 1n) answer = answer * base % ORDER;
  return answer;
}

// Shamir's shares of each number for so many trustees: any half of them, or fewer, say nothing.
function shared(record, trustees, drawn) {
  const degree = Math.floor((trustees - 1) / 2), width = record.length, known = [record];
  for (let place = 0; place < degree; place++)
    known.push(record.map((_, at) => littleEndian(drawn.slice(48 * (place * width + at), 48 * (place * width + at + 1))) % ORDER));
  return Array.from({length: trustees}, (_, row) => {
    const weights = known.map((_, i) => {
      let above = 1n, below = 1n;
      known.forEach((_, j) => { if (i !== j) { above *= BigInt(row + 1 - j); below *= BigInt(i - j); } });
      return modulo(above) * power(below, ORDER - 2n) % ORDER;
    });
    return record.map((_, at) => modulo(known.reduce((sum, values, i) => sum + weights[i] * values[at], 0n)));
  });
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

// The sealed letters of a record, one for each trustee in the order of their names.
async function writeLetters(data, handle, record, draw = random) {
  const count = data.trustees.length;
  const shares = shared(record, count, draw(48 * record.length * Math.floor((count - 1) / 2)));
  const letters = [];
  for (const [place, trustee] of data.trustees.entries()) {
    const context = ["collect answer", unhex(data.hash), handle, trustee.name];
    letters.push(await seal(join(...shares[place].map(packed)), unhex(trustee.key), draw(32), context));
  }
  return letters;
}

// The letters as they are handed in: a list of byte strings in MessagePack.
function pack(letters) {
  return join(Uint8Array.of(0x90 | letters.length), ...letters.flatMap((letter) => {
    const size = letter.length;
    const head = size < 256 ? [0xc4, size] : size < 65536 ? [0xc5, size >> 8, size & 255]
      : [0xc6, size >>> 24, (size >> 16) & 255, (size >> 8) & 255, size & 255];
    return [Uint8Array.from(head), letter];
  }));
}

// The board's line for an answer.
async function boardLine(handle, letters) {
  const digests = [];
  for (const letter of letters) digests.push(await digest("SHA-256", letter));
  return digest("SHA-256", spell("collect line/1", handle, ...digests));
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
  if (/[\u0000-\u001f\u007f]/.test(text) || utf8(text).length > PIECE * PIECES) throw new Error("text");
  return {code: 0, text};
}
