import { createRequire } from 'node:module';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { read, ROOT } from '../project';

/** What `npm test` may take: a verdict in minutes. */

const { isFull, isSlow } = createRequire(__filename)('../../helpers/jest/selection') as Record<
  'isFull' | 'isSlow',
  (text: string) => boolean
>;
/** Seconds of a file in a whole run, where four files run at once on two cores. */
const SECONDS = JSON.parse(read('test/helpers/jest/seconds.json')) as Record<string, number>;
/** 8 minutes of four processes, less what the build and the servers take. */
const MOST_SECONDS = 8 * 60 * 4 - 120;
/** What a file without a record counts as: the mean of those that start a worker. */
const UNMEASURED_SECONDS = 13;
/** Seconds below which leaving a file out wins nothing. */
const LEAST_SLOW_SECONDS = 5;

const files = readdirSync(path.join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
  .map((name) => `test/${name}`);
const kept = files.filter((file) => !isFull(read(file)) && !isSlow(read(file)));

test('the files that `npm test` runs took 8 minutes together', () => {
  const total = kept.reduce((sum, file) => sum + (SECONDS[file] ?? UNMEASURED_SECONDS), 0);
  expect(total).toBeLessThanOrEqual(MOST_SECONDS);
});

test('a file that is marked @slow is', () => {
  const quick = files.filter((file) => isSlow(read(file)) && (SECONDS[file] ?? Infinity) < LEAST_SLOW_SECONDS);
  expect(quick).toEqual([]);
});

test('every folder of tests has a file that `npm test` runs, but those with a command of their own', () => {
  const folderOf = (file: string): string => file.split('/')[1]!;
  const left = new Set(files.map(folderOf).filter((folder) => !kept.some((file) => folderOf(file) === folder)));
  expect([...left].sort()).toEqual(OWN_COMMANDS);
  expect(OWN_COMMANDS.filter((folder) => !existsSync(path.join(ROOT, 'test', folder, 'run.ts')))).toEqual([]);
});
const OWN_COMMANDS = ['pooler', 'userProjects'];
