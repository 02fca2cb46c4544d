const { readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');

/** A mark in the comment that a file begins with, or anywhere in its other comments. */
const marked = (mark) => new RegExp(`^ ?/?\\*+ (.* )?@${mark}\\b`, 'm');
const FULL = marked('full');
const SLOW = marked('slow');

/**
 * Leaves out the files marked `@slow`, which `npm run test:ci` runs, and those marked `@full`, which
 * `npm run test:full` runs, unless the command line names files, folders or tests: what is asked for
 * by name is run.
 */
module.exports = async (paths) => {
  const ofTests = process.argv.some((argument) => /^(-t|--testNamePattern)\b/.test(argument));
  const isNamed = ofTests || paths.length < countFiles(path.join(process.cwd(), 'test'));
  const runsSlow = process.env.MUSTER_TEST_SLOW === '1';
  const isLeftOut = (text) => isFull(text) || (isSlow(text) && !runsSlow);
  return { filtered: isNamed ? paths : paths.filter((file) => !isLeftOut(readFileSync(file, 'utf8'))) };
};

/** Says whether a file of this text is left out of CI, and so of `npm test`. */
const isFull = (text) => FULL.test(text);
/** Says whether a file of this text is left out of `npm test`, and runs in CI. */
const isSlow = (text) => SLOW.test(text);

const countFiles = (folder) =>
  readdirSync(folder, { recursive: true }).filter(
    (name) => /\.test\.[jt]s$/.test(name) && !name.includes('node_modules'), // those of test/libraries
  ).length;

Object.assign(module.exports, { isFull, isSlow });
