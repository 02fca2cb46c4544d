const { readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');

/** In the comment that a file begins with, or anywhere in its other comments. */
const FULL = /^ ?\/?\*+ (.* )?@full\b/m;

/**
 * Leaves out the files marked `@full`, which `npm run test:full` runs, unless the command line names
 * files, folders or tests: what is asked for by name is run.
 */
module.exports = async (paths) => {
  const ofTests = process.argv.some((argument) => /^(-t|--testNamePattern)\b/.test(argument));
  const isNamed = ofTests || paths.length < countFiles(path.join(process.cwd(), 'test'));
  return { filtered: isNamed ? paths : paths.filter((file) => !FULL.test(readFileSync(file, 'utf8'))) };
};

/** Says whether a file of this text is left out of `npm test`. */
module.exports.isFull = (text) => FULL.test(text);

const countFiles = (folder) =>
  readdirSync(folder, { recursive: true }).filter(
    (name) => /\.test\.[jt]s$/.test(name) && !name.includes('node_modules'), // those of test/libraries
  ).length;
