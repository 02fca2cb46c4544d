import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '../../client';
import type { Client, StrategyName } from '../../client';
import type { LaneRules } from '../../activities/handlers';
import { startChild } from '../support/child';
import type { Cleanup } from '../support/cleanup';
import { durationFlag, numberFlag, processFlags, switchFlag, textFlag } from '../support/flags';
import { runTrial, startServers } from '../support/trial';
import { ledgerHandler } from './handler';
import type { Victim } from './killer';
import { Killer } from './killer';
import type { PlannedBatch } from './workload';
import { BATCHES_PER_CALL, compare, planBatches } from './workload';

/**
 * Purchase orders edit prices in a ledger that forgets what it accepted when it dies (C16, C17): all real, started here. Batches of many
 * services go through few submitters while the ledger and the workers are killed in turns; then the ledger's own account is compared with
 * what one submitter alone would have come to. Ends with exit code 1 if they differ.
 */
const flags = processFlags({
  services: numberFlag(50, { min: 1 }),
  batches: numberFlag(5_000, { min: 1 }),
  submitters: numberFlag(8, { min: 1, max: 1_000 }),
  approach: textFlag('serial'),
  strategy: textFlag('one-round'),
  /** `2s`; 0: nobody is killed. */
  'kill-every': durationFlag(0),
  workers: numberFlag(2, { min: 2, max: 8 }),
  'commit-ms': numberFlag(250),
  seed: numberFlag(1),
  json: switchFlag(),
});

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function run(cleanup: Cleanup) {
  const stack = await startStack(cleanup);
  const client = createClient({
    databaseUrl: stack.databaseUrl,
    handlers: [ledgerHandler({ url: stack.ledger.current.url, approach: approach() })],
    temporal: { address: stack.temporal },
  });
  cleanup.add('client', () => client.close());
  await client.setQueuer({ slots: flags.submitters, strategy: flags.strategy as StrategyName });
  const planned = planBatches(flags.services, flags.batches, flags.seed);
  const killer = new Killer([stack.ledger, ...stack.workers].flatMap((victim, i) => (i === 0 ? [] : [stack.ledger, victim])), flags['kill-every'], say); // prettier-ignore
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
  const applied = order.map(({ key }) => places.get(Number(key.split('-').at(-1))));
  const state = (await read('state')) as Parameters<typeof compare>[1]['state'];
  const { checks } = await client.verify();
  const violations = checks.filter((check) => check.violations.length > 0);
  return {
    services: flags.services,
    batches: planned.length,
    submitters: flags.submitters,
    approach: approach(),
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

const approach = (): LaneRules['approach'] => flags.approach as LaneRules['approach'];
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
      'select status, count(*)::int as n from submission group by 1 order by 1',
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
  const file = join(mkdtempSync(join(tmpdir(), 'ledger-')), 'ledger.ndjson');
  const ledgerArgs = ['--file', file, '--commit-ms', String(flags['commit-ms']), '--seed', String(flags.seed)];
  const ledger = await victim('ledger', cleanup, (port) => startChild(join(__dirname, 'ledger.js'), [...ledgerArgs, '--port', String(port)])); // prettier-ignore
  const workerArgs = ['--temporal', temporal, '--ledger-url', ledger.current.url, '--approach', flags.approach];
  const workers: Victim[] = [];
  for (let i = 1; i <= flags.workers; i++)
    workers.push(await victim(`worker ${i}`, cleanup, () => startChild(join(__dirname, 'worker.js'), workerArgs, { env: { MUSTER_DATABASE_URL: databaseUrl }, readyMs: 120_000 }))); // prettier-ignore
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
    `ended: ${Object.entries(ends).map(([name, n]) => `${n} ${name}`).join(', ')}; ${tookS} s, ${batchesPerS} batches/s`, // prettier-ignore
    isEqual
      ? "the ledger's state and order are those of one submitter alone: nothing lost, twice, or overtaken"
      : `DIFFERENT: ${lost.length} lost, ${twice.length} twice, ${inversions.length} inversions, wrong prices in ${wrongPrices.join(', ') || 'none'}`,
    isWhole ? 'the store is whole' : `the store is NOT whole: ${JSON.stringify(result.violations)}`,
  ].join('\n');
};

runTrial({ run, describe, json: flags.json, isGood: ({ isEqual, isWhole }) => isEqual && isWhole });
