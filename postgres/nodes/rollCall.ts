import type { RollCallCounts, RollCallNeeds } from '../../workflows/planning/executions/rollCall';
import type { Queryable } from '../pool';

/** Statements about the nodes that answer roll calls of executions. */

/**
 * A node silent for longer is left out of a roll call: four heartbeats, less than `NODE_LIVE_MS`.
 */
export const ANSWERS_WITHIN_MS = 12_000;
/**
 * A node whose main thread has given no sign of life for so long does not answer: that thread would
 * run the work. As long as a roll call lasts by default.
 */
export const HANGS_AFTER_MS = 5_000;

const valuesOf = ({ functionId, attributes, topic }: RollCallNeeds): unknown[] => [
  functionId,
  JSON.stringify(attributes),
  topic,
  ANSWERS_WITHIN_MS,
  HANGS_AFTER_MS,
];

/**
 * Returns the nodes that answer a roll call: live ones with `batch_support`, these attributes and
 * the topic, whose main thread runs; no other is considered.
 */
export const answerRollCall = async (
  db: Queryable,
  needs: RollCallNeeds,
): Promise<{ id: string; serves: boolean }[]> => {
  const { rows } = await db.query<{ id: string; serves: boolean }>({
    name: 'answer-roll-call',
    text: `
select id, $1 = any(functions) as serves
from node
where batch and not draining and not drained and seen_at > clock() - $4 * interval '1 ms'
  and attributes @> $2::jsonb
  and ($3::text is null or $3 = any(topics))
  and coalesce(answered_at, seen_at) > seen_at - $5 * interval '1 ms'
order by id`,
    values: valuesOf(needs),
  });
  return rows;
};

/** Counts the nodes that meet each condition of a roll call and those before it. */
export const countRollCall = async (db: Queryable, needs: RollCallNeeds): Promise<RollCallCounts> => {
  const { rows } = await db.query<RollCallCounts>({
    name: 'count-roll-call',
    text: `
with able as (
  select $3::text is null or $3 = any(topics) as subscribes, attributes @> $2::jsonb as fits,
    coalesce(answered_at, seen_at) > seen_at - $5 * interval '1 ms' as answers, $1 = any(functions) as serves
  from node
  where batch and not draining and not drained and seen_at > clock() - $4 * interval '1 ms')
select count(*)::int as able, (count(*) filter (where subscribes))::int as subscribed,
  (count(*) filter (where subscribes and fits))::int as fitting,
  (count(*) filter (where subscribes and fits and answers))::int as answering,
  (count(*) filter (where subscribes and fits and answers and serves))::int as serving
from able`,
    values: valuesOf(needs),
  });
  return rows[0]!;
};
