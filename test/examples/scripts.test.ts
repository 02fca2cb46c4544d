import { execFile } from 'node:child_process';
import { read } from '../project/project';
import { distPath } from './paths';

/**
 * Every script of package.json that takes options answers `--help`, and says of a wrong option what
 * is wrong with it: as processes, from dist/, none of which comes as far as starting a server.
 *
 * @full
 */

/** README and others' scripts rely on these names. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  demo: ['limit', 'workers', 'keep'],
  'example:wasm-echo': ['nodes', 'items'],
  'example:ledger': [
    'services',
    'batches',
    'submitters',
    'approach',
    'strategy',
    'kill-every',
    'workers',
    'commit-ms',
    'seed',
    'json',
  ],
  'example:fanout': [
    'items',
    'consumers',
    'segment-size',
    'kill-every',
    'visibility-ms',
    'twice-share',
    'seed',
    'json',
  ],
  'example:fleet': ['nodes', 'partitions', 'minutes', 'tasks-per-s', 'lease-ms', 'block-ms', 'seed', 'json'],
  bench: ['case', 'tasks', 'runs', 'short', 'profile'],
  'bench:execution': ['items', 'chunks', 'nodes', 'json'],
  'bench:single': ['callers', 'tasks', 'targets', 'connections', 'runs', 'seconds', 'profile'],
  'bench:queuer': ['counted', 'backlog', 'grants', 'batches', 'commit', 'flow'],
  'bench:fanout': ['items', 'short'],
  'bench:api': ['singles', 'thousands', 'open', 'short'],
  'bench:tenants': ['seconds', 'turns', 'quota', 'tenants', 'short'],
  'bench:nodes': ['times', 'short', 'store'],
  'bench:starved': ['busy', 'seconds', 'rate'],
  'test:stops': ['stops', 'workers', 'stop-ms', 'rate', 'isolate-ms', 'within'],
  chaos: ['minutes', 'faults', 'only', 'workers', 'rate', 'within', 'seed'],
  'test:liveness': [
    'only',
    'workers',
    'rate',
    'stops',
    'stop-ms',
    'busy',
    'seconds',
    'leaders',
    'herd',
    'away',
    'half-open',
    'read-only',
    'within',
    'calm',
    'seed',
  ],
  'bench:dashboard': ['tasks', 'seconds'],
  'bench:operations': ['tasks', 'short'],
  'bench:simulate': ['scenarios', 'seed'],
  'test:chaos': ['scenario', 'tasks', 'batches', 'lanes', 'partitions', 'freezes', 'kills', 'seed', 'keep'],
  'test:execution': ['items', 'kills', 'nodes', 'seed'],
  'test:protocol': ['seconds', 'seed'],
  'test:fanout': ['trials', 'planted'],
  attack: ['short'],
  'test:fuzz': ['examples', 'seconds', 'workers', 'seed'],
};

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
/** What the script runs, compiled: jiti runs the same file as TypeScript. */
const fileOf = (name: string): string =>
  distPath(scripts[name]!.replace(/^node dist\/|^jiti /, '').replace(/\.ts$/, '.js'));

const run = (name: string, ...args: string[]) =>
  new Promise<{ code: number; out: string; err: string }>((resolve) => {
    execFile(process.execPath, [fileOf(name), ...args], { timeout: 60_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err }),
    );
  });

test('every script that takes options is here', () => {
  const named = Object.keys(scripts).filter((name) =>
    /^(demo|chaos|attack|bench|example:.*|bench:.*|test:(?!(unit|times|full|long|kit)$).*)$/.test(name),
  );
  expect(named.sort()).toEqual(Object.keys(OPTIONS).sort());
});

describe.each(Object.entries(OPTIONS))('npm run %s', (name, options) => {
  // Two processes at a time.
  let answers: Awaited<ReturnType<typeof run>>[];
  beforeAll(async () => {
    answers = await Promise.all([run(name, '--help'), run(name, '--no-such-option')]);
  });

  test('--help names every option with its meaning and default, and an example', () => {
    const { code, out, err } = answers[0]!;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(`Usage: npm run ${name} -- [options]`);
    expect(out).toContain(`\nExamples:\n  $ npm run ${name}`);
    const said = out.slice(out.indexOf('Options:'), out.indexOf('\n\n', out.indexOf('Options:')));
    const entries = said
      .split(/\n(?= {2}-)/)
      .slice(1)
      .map((entry) => entry.replace(/\s+/g, ' ').trim());
    expect(entries.map((entry) => /^(?:-h, )?--([a-z-]+)/.exec(entry)?.[1])).toEqual([...options, 'help']);
    for (const entry of entries.slice(0, -1)) expect(entry).toMatch(/^--[a-z-]+( <[^>]+>)? \w.{5,}\(.*default: .+\)/);
  });

  test('a wrong option ends it with exit code 2', () => {
    const { code, out, err } = answers[1]!;
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain("error: unknown option '--no-such-option'");
    expect(err).toContain(`npm run ${name} -- --help`);
  });
});
