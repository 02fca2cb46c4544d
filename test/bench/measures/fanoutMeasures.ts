import { ackItems } from '../../../client/fanouts/ackItems';
import { addItems, openFanout, sealFanout } from '../../../client/fanouts/fanout';
import { waitForFanout } from '../../../client/fanouts/waitFor';
import type { Pool } from '../../../postgres/pool';
import { seededRandom } from '../../../examples/support/random';

/** What `bench:fanout` measures, through the same functions as the client's. */

export interface FanoutMeasure {
  layout: string;
  items: number;
  addedPerS: number;
  /** All rows and indexes of everything that holds items, after the adds; and after all acks. */
  bytesPerItem: number;
  bytesPerItemAfter: number;
  acksPerSSingly: number;
  /** What one of them writes to the log, full pages included. */
  walBytesPerSingleAck: number;
  /** The same in a fan-out of 1,000 items: whose consumers meet in its segments. */
  acksPerSInASmallOne: number;
  acksPerSBy1000: number;
  acksPerSBy1000Scattered: number;
}

const PARALLELISM = 8;
const SINGLE_ACKS = 4_000;
const SMALL = 1_000;
const BY = 1_000;

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const at = performance.now();
  await work();
  return (performance.now() - at) / 1_000;
};
const perSecond = (n: number, s: number): number => Math.round(n / s);
const round = (value: number): number => Number(value.toFixed(3));

/** Runs jobs side by side, as consumers do. */
const inParallel = async <T>(
  jobs: readonly T[],
  work: (job: T) => Promise<unknown>,
  parallelism = PARALLELISM,
): Promise<void> => {
  let next = 0;
  const runner = async (): Promise<void> => {
    while (next < jobs.length) await work(jobs[next++]!);
  };
  await Promise.all(Array.from({ length: parallelism }, runner));
};

const shuffled = <T>(list: readonly T[], seed = 1): T[] => {
  const random = seededRandom(seed);
  const all = [...list];
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
  return all;
};
const chunked = <T>(list: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(list.length / BY) }, (_, i) => list.slice(i * BY, (i + 1) * BY));

const bytesOf = async (pool: Pool, tables: readonly string[]): Promise<number> => {
  const { rows } = await pool.query<{ bytes: number }>(
    'select sum(pg_total_relation_size(t::regclass))::float8 as bytes from unnest($1::text[]) t',
    [tables],
  );
  return rows[0]!.bytes;
};

const walOf = async (pool: Pool): Promise<number> =>
  (await pool.query<{ bytes: number }>(`select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes`)).rows[0]!.bytes;

export const bitsOf = async (pool: Pool, segmentSize: number, items: number): Promise<FanoutMeasure> => {
  const TABLES = ['fanout', 'segment', 'fanout_add'];
  const empty = await bytesOf(pool, TABLES);
  const { id } = await openFanout(pool, { segmentSize });
  const startedAt = performance.now();
  const added = await addItems(pool, id, items);
  const addS = (performance.now() - startedAt) / 1_000;
  const bytes = (await bytesOf(pool, TABLES)) - empty;
  const ids = [...added];
  const half = Math.floor(ids.length / 2);
  const singles = shuffled(ids.slice(half)).slice(0, SINGLE_ACKS);
  await inParallel(singles.slice(0, 200), (one) => ackItems(pool, one)); // warm
  const walBefore = await walOf(pool);
  const singleS = await seconds(() => inParallel(singles.slice(200), (one) => ackItems(pool, one)));
  const wal = (await walOf(pool)) - walBefore;
  const small = await openFanout(pool, { segmentSize });
  const smallIds = shuffled([...(await addItems(pool, small.id, SMALL))], 3);
  const smallS = await seconds(() => inParallel(smallIds, (one) => ackItems(pool, one)));
  const by = (parts: readonly string[][]): Promise<number> =>
    seconds(() => inParallel(parts, (part) => ackItems(pool, part, { idsPerCall: BY })));
  const ordered = chunked(ids.slice(0, half));
  const scattered = chunked(shuffled(ids.slice(half), 2));
  const orderedS = await by(ordered);
  const scatteredS = await by(scattered);
  const { state } = await sealFanout(pool, id);
  if (state !== 'complete') throw new Error(`expected a complete fan-out after all acks, got ${state}`);
  return {
    layout: `segments of ${segmentSize}`,
    items,
    addedPerS: perSecond(items, addS),
    bytesPerItem: round(bytes / items),
    bytesPerItemAfter: round(((await bytesOf(pool, TABLES)) - empty) / items),
    acksPerSSingly: perSecond(singles.length - 200, singleS),
    walBytesPerSingleAck: Math.round(wal / (singles.length - 200)),
    acksPerSInASmallOne: perSecond(SMALL, smallS),
    acksPerSBy1000: perSecond(half, orderedS),
    acksPerSBy1000Scattered: perSecond(ids.length - half, scatteredS),
  };
};

/**
 * The usual way: a row an item, and after each ack the question how many are left. With an index
 * made for just that question.
 */
export const rowsOf = async (pool: Pool, items: number): Promise<FanoutMeasure> => {
  await pool.query(
    'create table item (id bigint primary key, fanout_id int not null, acked boolean not null default false) with (fillfactor = 90)',
  );
  await pool.query('create index item_open on item (fanout_id) where not acked');
  const addS = await seconds(async () => {
    for (let from = 0; from < items; from += 10_000)
      await pool.query('insert into item (id, fanout_id) select i, 1 from generate_series($1::int, $2::int) i', [
        from,
        Math.min(items, from + 10_000) - 1,
      ]);
  });
  const bytes = await bytesOf(pool, ['item']);
  const ack = async (ids: readonly number[], fanout = 1): Promise<boolean> => {
    await pool.query({
      name: 'ack-rows',
      text: 'update item set acked = true where id = any($1::bigint[]) and not acked',
      values: [ids],
    });
    const { rows } = await pool.query<{ left: number }>({
      name: 'count-rows',
      text: 'select count(*)::int as left from item where fanout_id = $1 and not acked',
      values: [fanout],
    });
    return rows[0]!.left === 0;
  };
  const ids = Array.from({ length: items }, (_, i) => i);
  const half = Math.floor(items / 2);
  const singles = shuffled(ids.slice(half)).slice(0, 160); // each counts what is left: more would take minutes
  const walBefore = await walOf(pool);
  const singleS = await seconds(() => inParallel(singles, (one) => ack([one])));
  const wal = (await walOf(pool)) - walBefore;
  await pool.query('insert into item (id, fanout_id) select i, 2 from generate_series($1::int, $2::int) i', [
    items,
    items + SMALL - 1,
  ]);
  const smallIds = shuffled(
    Array.from({ length: SMALL }, (_, i) => items + i),
    3,
  );
  const smallS = await seconds(() => inParallel(smallIds, (one) => ack([one], 2)));
  const orderedS = await seconds(() => inParallel(chunked(ids.slice(0, half)), (part) => ack(part)));
  const scatteredS = await seconds(() => inParallel(chunked(shuffled(ids.slice(half), 2)), (part) => ack(part)));
  return {
    layout: 'a row an item',
    items,
    addedPerS: perSecond(items, addS),
    bytesPerItem: round(bytes / items),
    bytesPerItemAfter: round((await bytesOf(pool, ['item'])) / items),
    acksPerSSingly: perSecond(singles.length, singleS),
    walBytesPerSingleAck: Math.round(wal / singles.length),
    acksPerSInASmallOne: perSecond(SMALL, smallS),
    acksPerSBy1000: perSecond(half, orderedS),
    acksPerSBy1000Scattered: perSecond(items - half, scatteredS),
  };
};

const quantiles = (values: number[]): { p50: number; p99: number } => {
  const sorted = values.sort((a, b) => a - b);
  const at = (q: number): number =>
    Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!.toFixed(1));
  return { p50: at(0.5), p99: at(0.99) };
};

/**
 * From the sending of the last ack: until its answer says "complete", and until a client that waits
 * knows.
 */
export const latencyOf = async (pool: Pool, fanouts: number) => {
  const answers: number[] = [];
  const waits: number[] = [];
  for (let i = 0; i < fanouts; i++) {
    const { id } = await openFanout(pool, { segmentSize: 100 });
    const ids = [...(await addItems(pool, id, 1_000))];
    await sealFanout(pool, id);
    await ackItems(pool, ids.slice(1), { idsPerCall: BY });
    let at = 0;
    const waiting = waitForFanout(pool, id).then(() => waits.push(performance.now() - at));
    await new Promise((resolve) => setTimeout(resolve, 10 + (i % 20))); // it has looked, and waits
    at = performance.now();
    const { completed } = await ackItems(pool, ids[0]!);
    answers.push(performance.now() - at);
    if (completed.length !== 1) throw new Error(`expected the last ack to complete ${id}`);
    await waiting;
  }
  return { measure: 'completion latency', fanouts, answerMs: quantiles(answers), waitingMs: quantiles(waits) };
};
