import { defineHandler } from '../../handlers';
import type { LaneRules } from '../../handlers';
import { createClient } from '../../client';
import { createStore } from '../../examples/support/database';
import { numberFlag, processFlags, switchFlag } from '../../examples/support/flags';
import { startPostgres } from '../../workers/embedded';
import type { Measure } from './queuer/queuerMeasure';
import { tableOf } from './queuer/queuerMeasure';
import { throughTemporal } from './queuer/queuerThrough';
import { Bench } from './queuer/queuerBench';

/**
 * `npm run bench:queuer`: what a grant costs and how fairly it is made, on a real Postgres and
 * without Temporal or a network: the grants of one submitter activity (`grantNext`), and commits
 * written as a settlement writes them; then the same through the real workflow: a worker process
 * and Temporal, batches a second and actions a batch at 1, 8 and 64 submitters. Prints one JSON
 * line a measure on stdout and a table on stderr; exit code 1 if a promise of the spec is broken.
 */

const flags = processFlags(
  {
    name: 'npm run bench:queuer --',
    summary:
      'What a grant costs and how fairly it is made, on a real Postgres; then batches a second and actions a batch through a real worker and Temporal.',
    result: 'One line of JSON a measure on stdout, a table on stderr. Exit code 1 if a promise of the spec is broken.',
    examples: ['', '--counted --backlog 300 --grants 100 --batches 32 --commit 20 --flow 240'],
  },
  {
    counted: switchFlag('only what is counted, the same on any machine; nothing that is timed'),
    backlog: numberFlag(10_000, { text: 'batches of the huge lane beside nine small ones', min: 100 }),
    grants: numberFlag(1_000, { text: 'grants by the weights 1:2:3:4', min: 100 }),
    batches: numberFlag(96, { text: 'batches of a lane, parallel against serial', min: 32 }),
    commit: numberFlag(250, { text: 'how long each of these takes', min: 1, unit: 'ms' }),
    flow: numberFlag(6_000, { text: 'batches of the largest run through Temporal', min: 240 }),
  },
);
const SUBMITTERS = 16;
const repeat = (service: string, n: number): string[] => Array.from({ length: n }, () => service);
const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;
const round = (value: number): number => Number(value.toFixed(3));

/** Must not grow with the lanes that have nothing to do. */
const costOfAGrant = async (bench: Bench): Promise<Measure> => {
  const value: Record<string, number> = {};
  for (const lanes of [10, 1_000, 10_000]) {
    await bench.begin(1, 'one-round');
    await bench.client.pool.query(
      `with h as (select id from handler order by id limit 1), l as (
         insert into lane (service, handler_id, kind, approach, on_invalid) select 'idle-' || i, h.id, 1, 1, 0 from generate_series(1, $1) i, h on conflict do nothing returning id)
       insert into lane_state (lane_id, queuer_id) select id, 0 from l`,
      [lanes],
    );
    await bench.submit(Array.from({ length: 10 }, (_, i) => repeat(`busy-${i}`, 30)).flat());
    const took: number[] = [];
    for (let i = 0; i < 200; i++) {
      const at = performance.now();
      const granted = await bench.grant(1);
      took.push(performance.now() - at);
      await bench.commit(granted);
    }
    value[String(lanes)] = round(median(took));
  }
  return {
    measure: 'ms a grant, by idle lanes',
    value,
    promise: 'at 10,000 at most 1.5 times that at 10',
    kept: value['10000']! <= 1.5 * value['10']!,
  };
};

const grantsPerSecond = async (bench: Bench): Promise<Measure> => {
  await bench.begin(16, 'one-round');
  await bench.submit(Array.from({ length: 100 }, (_, i) => repeat(`fast-${i}`, 20)).flat());
  const at = performance.now();
  let n = 0;
  for (let granted = await bench.grant(16); granted.length > 0; granted = await bench.grant(16)) {
    n += granted.length;
    await bench.commit(granted);
  }
  return {
    measure: 'grants per second, 16 submitters, 100 lanes, commits included',
    value: round((n / (performance.now() - at)) * 1_000),
  };
};

const weightedShares = async (bench: Bench): Promise<Measure> => {
  const weights: Record<string, number> = { 'w-1': 1, 'w-2': 2, 'w-3': 3, 'w-4': 4 };
  await bench.begin(1, 'per-service');
  await bench.submit(Object.keys(weights).flatMap((service) => repeat(service, flags.grants / 2)));
  for (const [service, weight] of Object.entries(weights)) await bench.client.setLaneWeight(service, weight);
  const counts: Record<string, number> = {};
  for (let i = 0; i < flags.grants; i++) {
    const granted = await bench.grant(1);
    for (const { service } of granted) counts[service] = (counts[service] ?? 0) + 1;
    await bench.commit(granted);
  }
  const share = flags.grants / 10;
  const off = Object.entries(weights).map(([service, weight]) =>
    Math.abs((counts[service] ?? 0) / (share * weight) - 1),
  );
  const value = { ...counts, 'largest deviation': round(Math.max(...off)) };
  return {
    measure: `grants of ${flags.grants.toLocaleString('en')} by weights 1:2:3:4`,
    value,
    promise: 'within 5 %',
    kept: Math.max(...off) <= 0.05,
  };
};

const jainUnderSkew = async (bench: Bench): Promise<Measure> => {
  await bench.begin(4, 'one-round');
  const small = Array.from({ length: 9 }, (_, i) => `small-${i}`);
  await bench.submit([...repeat('huge', flags.backlog), ...small.flatMap((service) => repeat(service, 10))]);
  const counts = new Map<string, number>();
  for (let n = 0; n < 100; n += 4) {
    const granted = await bench.grant(4);
    for (const { service } of granted) counts.set(service, (counts.get(service) ?? 0) + 1);
    await bench.commit(granted);
  }
  const shares = ['huge', ...small].map((service) => counts.get(service) ?? 0);
  const sum = shares.reduce((a, b) => a + b, 0);
  const value = round(sum ** 2 / (shares.length * shares.reduce((a, b) => a + b * b, 0)));
  return {
    measure: `Jain index, ${flags.backlog.toLocaleString('en')} waiting in one lane and 10 in each of nine others`,
    value,
    promise: 'at least 0.95',
    kept: value >= 0.95,
  };
};

const lateSingle = async (bench: Bench): Promise<Measure> => {
  await bench.begin(1, 'multi-round');
  await bench.client.setQueuer({ depth: 3 });
  await bench.submit(Array.from({ length: 20 }, (_, i) => repeat(`old-${i}`, 10)).flat());
  for (let i = 0; i < 30; i++) await bench.commit(await bench.grant(1));
  await bench.submit(['late']);
  for (let waited = 0; ; waited++) {
    const granted = await bench.grant(1);
    await bench.commit(granted);
    if (granted[0]!.service === 'late')
      return {
        measure: 'grants of others before a late single batch, 20 services',
        value: waited,
        promise: 'one round: at most 20',
        kept: waited <= 20,
      };
  }
};

interface Lane {
  /** Until all are committed. */
  ms: number;
  /** On the way at once. */
  most: number;
  /** Granted beside another that it conflicts with, or after a later one. */
  disordered: number;
}

/** One lane, 16 submitters, a commit takes its time. */
const laneOf = async (bench: Bench, handler: 'serial' | 'parallel', conflicts: number): Promise<Lane> => {
  const { batches, commit } = flags;
  await bench.begin(SUBMITTERS, 'one-round');
  const every = conflicts === 0 ? Infinity : Math.round(1 / conflicts);
  await bench.submit(repeat(`${handler}-${conflicts}`, batches), handler, (at) => [
    at % every === 0 ? 'hot' : `own-${at}`,
  ]);
  const hot = new Set((await bench.inOrder()).filter((_, at) => at % every === 0));
  const startedAt = performance.now();
  let left = batches;
  let free = SUBMITTERS;
  let [most, disordered, newest] = [0, 0, 0];
  let hotNow = 0;
  const note = (id: number): void => {
    if (!hot.has(id)) return;
    if (++hotNow > 1 || id < newest) disordered++;
    newest = id;
  };
  await new Promise<void>((resolve, reject) => {
    let looking: Promise<void> = Promise.resolve();
    const look = async (): Promise<void> => {
      const granted = free === 0 ? [] : await bench.grant(free);
      free -= granted.length;
      most = Math.max(most, SUBMITTERS - free);
      for (const { id } of granted) note(id);
      for (const one of granted)
        setTimeout(() => {
          looking = looking
            .then(() => bench.commit([one]))
            .then(() => {
              free++;
              if (hot.has(one.id)) hotNow--;
              if (--left === 0) return resolve();
              return look();
            })
            .catch(reject);
        }, commit);
    };
    looking = look().catch(reject);
  });
  return { ms: performance.now() - startedAt, most, disordered };
};

const countsOf = (lane: Lane, name: string, least: number, most: number): Measure => ({
  measure: `on the way at once, and out of order: ${name}`,
  value: { most: lane.most, disordered: lane.disordered },
  promise: `${least === most ? '' : `${least} to `}${most} of ${SUBMITTERS} submitters, and 0`,
  kept: lane.most >= least && lane.most <= most && lane.disordered === 0,
});

const parallelAgainstSerial = async (bench: Bench): Promise<Measure[]> => {
  const serial = await laneOf(bench, 'serial', 1);
  const measures = [countsOf(serial, 'serial', 1, 1)];
  for (const [conflicts, least, most, fewest] of [
    [0, 12, Infinity, SUBMITTERS],
    [0.1, 5, Infinity, SUBMITTERS / 2],
    [1, 0.95, 1.05, 1],
  ] as const) {
    const parallel = await laneOf(bench, 'parallel', conflicts);
    const at = `parallel at ${conflicts * 100} % conflicts`;
    measures.push(countsOf(parallel, at, fewest, conflicts === 1 ? 1 : SUBMITTERS));
    const value = round(serial.ms / parallel.ms);
    if (flags.counted) continue;
    measures.push({
      measure: `parallel against serial at ${conflicts * 100} % conflicts`,
      value,
      promise: `at least ${least}${most === Infinity ? '' : `, at most ${most}`}`,
      kept: value >= least && value <= most,
    });
  }
  return measures;
};

async function main(): Promise<void> {
  const postgres = await startPostgres({ log: () => undefined });
  try {
    const databaseUrl = await createStore(postgres.url, 'bench');
    const handlers = (['serial', 'parallel'] as const).map((approach: LaneRules['approach']) =>
      defineHandler<{ service: string }>({
        name: approach,
        target: ({ service }) => service,
        limits: { maxItems: 10 },
        lane: { approach },
        submit: () => Promise.resolve({ results: [] }),
      }),
    );
    // Nobody listens at that address: the rings' wakes fail and are ignored, the grants are made by
    // hand.
    const client = createClient({ databaseUrl, handlers, temporal: { address: '127.0.0.1:9' } });
    const bench = new Bench(client, new Map(handlers.map((handler) => [handler.name, handler])));
    const measures: Measure[] = [];
    const print = (measure: Measure): void => {
      measures.push(measure);
      process.stdout.write(`${JSON.stringify(measure)}\n`);
    };
    const timed = flags.counted ? [] : [grantsPerSecond, costOfAGrant];
    for (const measure of [weightedShares, jainUnderSkew, lateSingle, ...timed]) print(await measure(bench));
    for (const measure of await parallelAgainstSerial(bench)) print(measure);
    await client.close();
    await throughTemporal(postgres.url, flags.flow, print);
    process.stderr.write(`${tableOf(measures)}\n`);
    process.exitCode = measures.some(({ kept }) => kept === false) ? 1 : 0;
  } finally {
    await postgres.stop();
  }
}

void main();
