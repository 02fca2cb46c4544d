import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.join(__dirname, '..', '..');

export const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/**
 * What git tracks. `safe.directory`: the checkout may belong to another user than the one who runs
 * the tests.
 */
export const trackedFiles = (): string[] =>
  execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '');
