import { ackItems } from '../../postgres/fanouts/ack';
import { sealFanout } from '../../postgres/fanouts/fanout';
import type { Pool } from '../../postgres/pool';

/**
 * The two races for a completion, on real connections: the two last acks of two segments, and the
 * seal against the last ack. Each trial is a separate fan-out; both sides are sent at the same
 * instant, on two connections.
 */

export interface RaceReport {
  race: 'two last acks' | 'seal against last ack';
  trials: number;
  /** Trials that reported the completion so many times. */
  reported: Record<number, number>;
  /** Fan-outs that are complete, and events of theirs, in the store afterwards. */
  complete: number;
  events: number;
  ms: number;
}

/**
 * How the two sides of a trial work; each answers whether it reported the completion. Each has
 * connections of its own.
 */
export interface Sides {
  ack(pool: Pool, fanout: string, segment: number): Promise<boolean>;
  seal(pool: Pool, fanout: string): Promise<boolean>;
}

/** The product. */
const SIDES: Sides = {
  ack: async (pool, fanout, segment) =>
    (await ackItems(pool, [{ fanout, segment, indexes: [0] }])).completed.length > 0,
  seal: async (pool, fanout) => (await sealFanout(pool, fanout))!.completed !== null,
};

/**
 * As the source does it: without `open_segments`, each side writes its own, then looks whether
 * anything is left, in the same transaction. In READ COMMITTED neither sees the other before it
 * commits.
 */
export const LOOK_THEN_REPORT: Sides = {
  ack: (pool, fanout, segment) =>
    look(
      pool,
      fanout,
      `update segment set bits = put_bits(bits, '{0}', 0) where fanout_id = (select id from fanout where public_id = $1) and no = ${segment}`,
    ),
  seal: (pool, fanout) => look(pool, fanout, 'insert into planted_seal values ($1)'),
};

const look = async (pool: Pool, fanout: string, write: string): Promise<boolean> => {
  const session = await pool.connect();
  try {
    await session.query('begin');
    await session.query(write, [fanout]);
    const { rows } = await session.query<{ complete: boolean }>(
      `select exists (select from planted_seal where fanout = $1)
         and not exists (select from segment s join fanout f on f.id = s.fanout_id where f.public_id = $1 and bit_count(s.bits) > 0) as complete`,
      [fanout],
    );
    await session.query('commit');
    return rows[0]!.complete;
  } finally {
    session.release();
  }
};

const CHUNK = 500;
/**
 * Trials side by side: so that a busy machine's scheduler, not one event loop, orders their
 * statements.
 */
const PARALLELISM = 4;

/** Open fan-outs of segments of one item each, `sealed` or not, each with somebody to be told. */
const make = async (pool: Pool, n: number, segments: number, sealed: boolean): Promise<string[]> => {
  const { rows } = await pool.query<{ id: string }>(
    `with i as (insert into recipient (kind, address, used_at) values ('workflow', '{"workflowId": "nobody"}', clock()) on conflict (address) do update set used_at = clock() returning id),
     f as (insert into fanout (segment_size, segments, open_segments, items, recipient_id, opened_at, active_at, state, sealed_at)
       select 1, $2::int, $2, $2, i.id, clock(), clock(), case when $3 then 1 else 0 end, case when $3 then clock() end from i, generate_series(1, $1) returning id, public_id),
     s as (insert into segment (fanout_id, no, size, bits) select f.id, no, 1, ones(1) from f, generate_series(0, $2 - 1) no)
     select public_id as id from f`,
    [n, segments, sealed],
  );
  return rows.map(({ id }) => id);
};

export const race = async (
  kind: RaceReport['race'],
  pools: readonly [Pool, Pool],
  trials: number,
  sides: Sides = SIDES,
): Promise<RaceReport> => {
  const [one, other] = pools;
  const isAcks = kind === 'two last acks';
  const startedAt = performance.now();
  const reported: Record<number, number> = {};
  const fanouts: string[] = [];
  for (let left = trials; left > 0; left -= CHUNK) {
    const chunk = await make(one, Math.min(left, CHUNK), isAcks ? 2 : 1, isAcks && sides === SIDES);
    if (isAcks && sides !== SIDES) await one.query('insert into planted_seal select unnest($1::uuid[])', [chunk]);
    fanouts.push(...chunk);
    const queue = chunk.map((fanout, i) => ({ fanout, swap: i % 2 === 1 }));
    const runner = async (): Promise<void> => {
      for (let trial = queue.pop(); trial !== undefined; trial = queue.pop()) {
        const { fanout, swap } = trial;
        const first = (): Promise<boolean> => (isAcks ? sides.ack(one, fanout, 1) : sides.seal(one, fanout));
        const second = (): Promise<boolean> => sides.ack(other, fanout, 0);
        const both = swap ? [second(), first()] : [first(), second()];
        const n = (await Promise.all(both)).filter(Boolean).length;
        reported[n] = (reported[n] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: PARALLELISM }, runner));
  }
  const { rows } = await one.query<{ complete: number; events: number }>(
    `select (select count(*) from fanout where state = 2 and public_id = any($1::uuid[]))::int as complete,
       (select count(*) from notification n join fanout f on f.id = n.fanout_id where f.public_id = any($1::uuid[]))::int as events`,
    [fanouts],
  );
  return { race: kind, trials, reported, ...rows[0]!, ms: Math.round(performance.now() - startedAt) };
};

/** Each trial reported once, completed, told once. */
export const isExactlyOnce = ({ trials, reported, complete, events }: RaceReport): boolean =>
  reported[1] === trials && complete === trials && events === trials;
