const path = require('node:path');
const { Readable, Writable } = require('node:stream');

const PROGRAM = path.join(__dirname, '..', '..', '..', 'dist', 'client', 'cli', 'runCommandLine.js');

/** Variables of this process that commands which run have set, for the code of a config file. */
const lent = new Map();

const lend = (name, value) => {
  const one = lent.get(name) ?? { value, before: process.env[name], users: 0 };
  if (one.value !== value)
    throw new Error(`Cannot run with ${name}=${value}: a command runs with ${one.value}. Use runProcess.`);
  one.users++;
  lent.set(name, one);
  process.env[name] = value;
};
const takeBack = (name) => {
  const one = lent.get(name);
  if (--one.users > 0) return;
  lent.delete(name);
  if (one.before === undefined) delete process.env[name];
  else process.env[name] = one.before;
};

const ROOT = path.join(__dirname, '..', '..', '..');
const isIn = (file, folder) => file.startsWith(folder + path.sep);

/**
 * A process loads the files of its folder anew. Not jest's own, which this process needs as they
 * are, where a command runs in a folder above a checkout (in the one for temporary files, say).
 */
const forgetModulesIn = (folder) => {
  const isAbove = isIn(ROOT, folder);
  for (const file of Object.keys(require.cache))
    if (isIn(file, folder) && !(isAbove && isIn(file, ROOT))) delete require.cache[file];
};

const collector = () => {
  const chunks = [];
  const stream = new Writable({
    write: (chunk, _, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
};

/**
 * Runs the built command line to its end within this process. Its modules are Node's own, outside
 * of what jest evaluates anew in each file: loading them is most of what a command costs.
 *
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: Record<string, string>, ofConfig: Record<string, string>, stdin: string }} options
 *   `ofConfig`: what of `env` the code of a config file may read.
 */
const runMuster = async (args, { cwd, env, ofConfig, stdin }) => {
  const { runCommandLine } = require(PROGRAM);
  const [stdout, stderr] = [collector(), collector()];
  forgetModulesIn(cwd);
  const names = Object.keys(ofConfig);
  for (const name of names) lend(name, ofConfig[name]);
  try {
    const code = await runCommandLine(args, {
      stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
      stdout: stdout.stream,
      stderr: stderr.stream,
      cwd,
      env,
    });
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    for (const name of names) takeBack(name);
  }
};

module.exports = { runMuster };
