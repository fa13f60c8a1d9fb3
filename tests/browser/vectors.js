// Answers as the page makes them, for tests: reads a study and jobs, writes what the page's program makes of them.
const fs = require("node:fs");
const given = JSON.parse(fs.readFileSync(0, "utf8"));
const names = ["readAnswer", "recordWord", "writeLetter", "pack", "boardLine", "unhex", "hex", "random",
  "readInvitation", "keyPair", "spell", "digest", "onBoard", "receiptHolds"];
const page = new Function(fs.readFileSync(process.argv[2], "utf8") + `; return {${names.join(",")}};`)();

async function one(data, job) {
  const answers = {};
  for (const [name, raw] of Object.entries(job.raws)) {
    const question = data.questions.find((each) => each.name === name);
    try { answers[name] = page.readAnswer(question, raw); } catch (error) { return {refused: name, why: error.message}; }
  }
  const drawn = [...(job.drawn || [])].map(page.unhex);
  const own = await page.keyPair("Ed25519", page.unhex(given.seed)), keys = given.keys.map(page.unhex);
  const draw = job.drawn ? () => drawn.shift() : page.random;
  const letter = await page.writeLetter(data, keys, job.handle, page.recordWord(data, answers), own, draw);
  return {content: page.hex(page.pack(letter)), line: page.hex(await page.boardLine(job.handle, letter)),
          texts: Object.fromEntries(Object.entries(answers).map(([name, each]) => [name, each.text]))};
}

(async () => {
  const found = [];
  const began = process.cpuUsage();
  for (const job of given.jobs) found.push(await one(given.data, job));
  const spent = process.cpuUsage(began);
  const invitations = [];
  for (const text of given.invitations || []) {
    const read = await page.readInvitation(text);
    invitations.push(read && {...read, secret: page.hex(read.secret)});
  }
  process.stdout.write(JSON.stringify({answers: found, invitations, milliseconds: (spent.user + spent.system) / 1000}));
})();
