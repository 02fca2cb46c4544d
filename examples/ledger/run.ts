import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '../../client';
import type { Client, StrategyName } from '../../client';
import { startChild } from '../support/child';
import type { Cleanup } from '../support/cleanup';
import { choiceFlag, durationFlag, numberFlag, processFlags, seedFlag, switchFlag } from '../support/flags';
import { runTrial, startServers } from '../support/trial';
import { APPROACHES, ledgerHandler } from './handler';
import type { Victim } from './killer';
import { Killer } from './killer';
import type { PlannedBatch } from './workload';
import { BATCHES_PER_CALL, compare, planBatches } from './workload';

/**
 * Purchase orders edit prices in a ledger that forgets what it accepted when it dies (C16, C17):
 * all real, started here. Batches of many services go through few submitters while the ledger and
 * the workers are killed in turns; then the ledger's own account is compared with what one
 * submitter alone would have come to. Ends with exit code 1 if they differ.
 */
const STRATEGIES: readonly StrategyName[] = ['single', 'per-service', 'one-round', 'multi-round'];

const flags = processFlags(
  {
    name: 'npm run example:ledger --',
    summary:
      'Price edits in a ledger that forgets what it accepted when it dies: batches of many services ' +
      'through few submitters, then its account is compared with what one submitter alone would have ' +
      'come to.',
    result: 'The comparison goes to stdout, progress to stderr. Exit code 1 if they differ, or the store is not whole.',
    examples: [
      '--services 50 --batches 5000 --submitters 8 --approach serial --strategy one-round --kill-every 2s',
      '--batches 500 --approach parallel --json',
    ],
  },
  {
    services: numberFlag(50, { text: 'services, each with its own lane', min: 1 }),
    batches: numberFlag(5_000, { text: 'batches of all services together', min: 1 }),
    submitters: numberFlag(8, { text: 'batches that are sent at once', min: 1, max: 1_000 }),
    approach: choiceFlag(APPROACHES, 'serial', "how a service's batches are sent"),
    strategy: choiceFlag(STRATEGIES, 'one-round', 'whose batch is next'),
    'kill-every': durationFlag(
      0,
      'the ledger or a worker is killed so long after the last victim is back; 0: no kills',
    ),
    workers: numberFlag(2, { text: 'worker processes', min: 2, max: 8 }),
    'commit-ms': numberFlag(250, {
      text: 'time the ledger takes to a commit, in milliseconds, half more or less',
      unit: 'ms',
    }),
    seed: seedFlag(1),
    json: switchFlag('one line of JSON on stdout in place of the text'),
  },
);

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function run(cleanup: Cleanup) {
  const stack = await startStack(cleanup);
  const client = createClient({
    databaseUrl: stack.databaseUrl,
    handlers: [ledgerHandler({ url: stack.ledger.current.url, approach: flags.approach })],
    temporal: { address: stack.temporal },
  });
  cleanup.add('client', () => client.close());
  await client.setQueuer({ slots: flags.submitters, strategy: flags.strategy });
  const planned = planBatches(flags.services, flags.batches, flags.seed);
  const killer = new Killer(
    [stack.ledger, ...stack.workers].flatMap((victim, i) => (i === 0 ? [] : [stack.ledger, victim])),
    flags['kill-every'],
    say,
  );
  const startedAt = performance.now();
  if (flags['kill-every'] > 0) killer.start();
  const ids = await submit(client, planned);
  say(`submitted ${planned.length} batches in ${seconds(startedAt)} s`);
  const ends = await allEnded(client, planned.length, startedAt);
  const tookS = Number(seconds(startedAt));
  await killer.stop();
  const { url } = stack.ledger.current;
  const read = async (path: string): Promise<unknown> => (await fetch(`${url}/${path}`)).json();
  const places = new Map(ids.map((id, at) => [id, at]));
  const order = (await read('order')) as { key: string }[];
  // A key is muster-<installation>-<batch>-<microsecond>.
  const applied = order.map(({ key }) => places.get(Number(key.split('-')[2])));
  const state = (await read('state')) as Parameters<typeof compare>[1]['state'];
  const { checks } = await client.verify({ full: true });
  const violations = checks.filter((check) => check.violations.length > 0);
  return {
    services: flags.services,
    batches: planned.length,
    submitters: flags.submitters,
    approach: flags.approach,
    strategy: flags.strategy,
    kills: killer.kills,
    tookS,
    batchesPerS: Number((planned.length / tookS).toFixed(1)),
    ends,
    applied: applied.length,
    ...compare(planned, { state, applied }),
    isWhole: violations.length === 0,
    violations,
  };
}

const seconds = (since: number): string => ((performance.now() - since) / 1_000).toFixed(1);

const submit = async (client: Client, planned: readonly PlannedBatch[]): Promise<number[]> => {
  const ids: number[] = [];
  for (let at = 0; at < planned.length; at += BATCHES_PER_CALL) {
    const part = planned.slice(at, at + BATCHES_PER_CALL).map(({ service, edits, dependsOn }, i) => ({
      service,
      key: `b${at + i}`,
      items: edits.map((edit) => ({ id: edit.id, payload: { service, edit } })),
      dependsOn: dependsOn === null ? [] : [`b${dependsOn}`],
    }));
    for (const one of await client.submitBatches('ledger', part)) ids.push(one.batch);
  }
  return ids;
};

const allEnded = async (client: Client, batches: number, startedAt: number): Promise<Record<string, number>> => {
  const NAMES: Readonly<Record<number, string>> = {
    10: 'committed',
    11: 'invalid',
    12: 'skipped',
    13: 'failed-dependency',
    14: 'cancelled',
  };
  for (let told = 0; ;) {
    const { rows } = await client.pool.query<{ status: number; n: number }>(
      'select status, count(*)::int as n from lane_batch group by 1 order by 1',
    );
    const open = batches - rows.filter(({ status }) => status >= 10).reduce((sum, { n }) => sum + n, 0);
    if (open === 0) return Object.fromEntries(rows.map(({ status, n }) => [NAMES[status] ?? String(status), n]));
    if (performance.now() - told > 5_000) {
      told = performance.now();
      say(`${seconds(startedAt)} s: ${batches - open} of ${batches} have ended`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
};

async function startStack(cleanup: Cleanup) {
  const { databaseUrl, temporal } = await startServers(cleanup);
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  cleanup.add('file of the ledger', async () => rmSync(folder, { recursive: true }));
  const file = join(folder, 'ledger.ndjson');
  const ledgerArgs = ['--file', file, '--commit-ms', String(flags['commit-ms']), '--seed', String(flags.seed)];
  const ledger = await victim('ledger', cleanup, (port) =>
    startChild(join(__dirname, 'ledger.js'), [...ledgerArgs, '--port', String(port)]),
  );
  const workerArgs = ['--temporal', temporal, '--ledger-url', ledger.current.url, '--approach', flags.approach];
  const workers: Victim[] = [];
  for (let i = 1; i <= flags.workers; i++)
    workers.push(
      await victim(`worker ${i}`, cleanup, () =>
        startChild(join(__dirname, 'worker.js'), workerArgs, {
          env: { MUSTER_DATABASE_URL: databaseUrl },
          readyMs: 120_000,
        }),
      ),
    );
  say(`Postgres, Temporal at ${temporal}, ledger at ${ledger.current.url}, ${workers.length} workers`);
  return { databaseUrl, temporal, ledger, workers };
}

/** It comes back where it was: on the same port. */
const victim = async (
  name: string,
  cleanup: Cleanup,
  start: (port: number) => ReturnType<typeof startChild>,
): Promise<Victim> => {
  const first = await start(0);
  const made: Victim = { name, current: first, start: () => start(first.port) };
  cleanup.add(name, () => made.current.stop());
  return made;
};

const describe = (result: Awaited<ReturnType<typeof run>>): string => {
  const { isEqual, isWhole, lost, twice, inversions, wrongPrices, ends, kills, tookS, batchesPerS } = result;
  return [
    `${result.batches} batches of ${result.services} services, ${result.submitters} submitters, ${result.approach}, ${result.strategy}; ${kills} kills`,
    `ended: ${Object.entries(ends)
      .map(([name, n]) => `${n} ${name}`)
      .join(', ')}; ${tookS} s, ${batchesPerS} batches/s`,
    isEqual
      ? "the ledger's state and order are those of one submitter alone: nothing lost, twice, or overtaken"
      : `DIFFERENT: ${lost.length} lost, ${twice.length} twice, ${inversions.length} inversions, wrong prices in ${wrongPrices.join(', ') || 'none'}`,
    isWhole ? 'the store is whole' : `the store is NOT whole: ${JSON.stringify(result.violations)}`,
  ].join('\n');
};

runTrial({ run, describe, json: flags.json, isGood: ({ isEqual, isWhole }) => isEqual && isWhole });
