import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../workers/embedded/commands';
import { serverUser } from '../../workers/embedded/serverUser';

/** Programs that are asked before the embedded servers start, on a starved machine. */

/** This process does nothing else for so long, as when it gets no processor. */
const standStill = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

test('an answer that is lost because this process stood still is not taken for an empty one', async () => {
  const answer = runCommand('/bin/sh', ['-c', 'echo 104'], { timeoutMs: 200 });
  standStill(700);
  expect(await answer).toEqual({
    ok: false,
    stdout: expect.any(String),
    reason: 'gave up after 0.2 s',
    timedOut: true,
  });
});

test('an answer within its time is given with its text', async () => {
  expect(await runCommand('/bin/sh', ['-c', 'echo 104'], { timeoutMs: 60_000 })).toEqual({
    ok: true,
    stdout: '104\n',
    reason: '',
    timedOut: false,
  });
});

describe('the user that Postgres runs as, for root', () => {
  const { getuid } = process;
  const { PATH } = process.env;
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-id-'));
    process.getuid = () => 0;
    process.env['PATH'] = `${folder}:${PATH}`;
  });
  afterEach(() => {
    if (getuid !== undefined) process.getuid = getuid;
    process.env['PATH'] = PATH;
    rmSync(folder, { recursive: true });
  });
  const idSays = (script: string): void => {
    writeFileSync(join(folder, 'id'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'id'), 0o755);
  };

  test('is the first account that there is, and never root', async () => {
    idSays('case "$2" in postgres) echo 0;; nobody) test "$1" = -u && echo 4294967294 || echo 99;; *) exit 1;; esac');
    expect(await serverUser(join(folder, 'none'))).toEqual({ name: 'user nobody', uid: -2, gid: 99 });
  });

  test('an answer without a number is an error that says so, and not root', async () => {
    idSays('exit 0');
    await expect(serverUser(join(folder, 'none'))).rejects.toThrow(
      /^Cannot find the user to run Postgres as: expected a number of `id -[ug] postgres`, got "".*DATABASE_URL\.$/,
    );
  });

  test('no such account at all', async () => {
    idSays('exit 1');
    await expect(serverUser(join(folder, 'none'))).rejects.toThrow(/expected a user postgres, _postgres, nobody/);
  });
});
