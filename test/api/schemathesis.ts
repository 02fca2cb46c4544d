import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { install } from '../../workers/embedded/programs/cache';
import { cacheDirectory } from '../../workers/embedded/paths';

/**
 * The schema-driven fuzzer, from PyPI into our cache on first use; nothing of it is in the
 * repository.
 */
const VERSION = '4.32.5';

const installed = async (): Promise<string> => {
  const name = `schemathesis-${VERSION}`;
  const there = path.join(cacheDirectory(), name);
  if (existsSync(there)) return there;
  return install(cacheDirectory(), name, async (workDir) => {
    const target = path.join(workDir, 'packages');
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--target',
      target,
      `schemathesis==${VERSION}`,
    ];
    await promisify(execFile)('python3', pip, { timeout: 240_000 });
    return target;
  });
};

export interface Fuzz {
  url: string;
  token: string;
  phases: string;
  /** Of an operation and phase. */
  examples: number;
  seed: number;
  /** The phases that generate at random stop after so long; the others end by themselves. */
  maxSeconds?: number;
  /** Whether requests keep to the document, break it, or do both in turn. Default: both. */
  mode?: 'positive' | 'negative' | 'all';
  /** Default 1: before Python 3.11.5 its parser breaks now and then when threads use it at once. */
  workers?: number;
  /** Further statuses of what keeps to the document: 401 and 403 of a token that may less. */
  alsoAnswers?: readonly number[];
  onOutput?: (text: string) => void;
}

/**
 * What counts: no 5xx, every status, type, header and body as documented; what breaks the document
 * is refused, what keeps to it is taken or refused by name: a rule that no schema says (422), a
 * state (409), an id (404), back pressure (429), size (413). Every route but health asks for a
 * token, every other method is a 405. No route answers 431: an address of more than 16 KiB is
 * refused before it comes to one.
 */
const config = (alsoAnswers: readonly number[]): string => `
[checks]
positive_data_acceptance.expected-statuses = ["2xx", ${[...alsoAnswers, 404, 409, 413, 422, 429].join(', ')}]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431]
`;

/** Runs it to its end: whether it found nothing, and all that it said. */
export const fuzz = async ({
  url,
  token,
  phases,
  examples,
  seed,
  maxSeconds,
  mode = 'all',
  workers = 1,
  alsoAnswers = [],
  onOutput,
}: Fuzz): Promise<{ ok: boolean; output: string }> => {
  const packages = await installed();
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-fuzz-'));
  writeFileSync(path.join(folder, 'schemathesis.toml'), config(alsoAnswers));
  const args = [
    ...[
      '-m',
      'schemathesis.cli',
      '--config-file',
      path.join(folder, 'schemathesis.toml'),
      'run',
      `${url}/openapi.json`,
    ],
    ...['--header', `Authorization: Bearer ${token}`, '--phases', phases, '--max-examples', String(examples)],
    ...['--seed', String(seed), '--workers', String(workers), '--continue-on-failure', '--request-timeout', '30'],
    ...['--generation-database', 'none', '--warnings', 'off', '--suppress-health-check', 'all'],
    ...['--mode', mode],
    ...(maxSeconds === undefined ? [] : ['--max-time', String(maxSeconds)]),
  ];
  const child = spawn('python3', args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, PYTHONPATH: packages, PYTHONIOENCODING: 'utf-8', COLUMNS: '160' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const hear = (text: string): void => {
    output += text;
    onOutput?.(text);
  };
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  rmSync(folder, { recursive: true, force: true });
  return { ok: code === 0, output };
};
