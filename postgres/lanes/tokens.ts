import type { RateLimit } from '../../workflows/planning/limits/limits';
import { UNLIMITED_CALLS } from '../../workflows/planning/lanes/tokens';
import type { HandlerTokens } from '../../workflows/planning/lanes/types';
import type { Client } from '../pool';

/**
 * Returns the limits of handlers over their lane batches, as far as back pressure left them, and
 * how much of each is taken. Under the queuer's lock: only its holder grants any of it.
 */
export const readTokens = async (
  client: Client,
  handlerIds: readonly number[],
  targetIds: readonly number[],
): Promise<HandlerTokens[]> => {
  const { rows } = await client.query<HandlerTokens>({
    name: 'read-tokens',
    text: `
select h.id, nullif(h.per_target, $3) as "perTarget", least(nullif(h.per_handler, $3), h.allowed) as "perHandler",
  h.weight_per_target as "weightPerTarget", h.weight_per_handler as "weightPerHandler", h.rates, h.paces,
  coalesce(sum(u.calls), 0)::int as calls, coalesce(sum(u.weight), 0)::float8 as weight, coalesce(json_agg(
      json_build_object('id', t.id, 'paces', t.paces, 'allowed', t.allowed, 'calls', coalesce(u.calls, 0), 'weight',
        coalesce(u.weight, 0), 'perTarget', t.per_target, 'weightPerTarget', t.weight_per_target, 'rates', t.rates))
      filter (where t.id = any($2::int[])), '[]') as targets
from handler h left join lateral (
  select s.target_id, count(*) filter (where s.status = 3 /* submitted */) as calls, sum(b.weight) as weight
  from lane_batch s join batch b on b.id = s.batch_id
  where s.handler_id = h.id and s.status between 2 /* unknown */ and 5 /* valid */
  group by 1) u on true left join target t on t.id = u.target_id
where h.id = any($1::int[])
group by h.id`,
    values: [handlerIds, targetIds, UNLIMITED_CALLS],
  });
  const idle = await readIdlePaces(client, targetIds);
  return rows.map((row) => {
    const known = new Set(row.targets.map(({ id }) => id));
    const others = idle.filter(({ id, handlerId }) => handlerId === row.id && !known.has(id));
    return {
      ...row,
      targets: [...row.targets, ...others.map(({ handlerId: _, ...target }) => ({ ...target, calls: 0, weight: 0 }))],
    };
  });
};

interface IdleTarget {
  id: number;
  handlerId: number;
  paces: number[];
  allowed: number | null;
  perTarget: number | null;
  weightPerTarget: number | null;
  rates: RateLimit[] | null;
}

const readIdlePaces = async (client: Client, targetIds: readonly number[]): Promise<IdleTarget[]> => {
  const { rows } = await client.query<IdleTarget>({
    name: 'read-paces',
    text: `
select id, handler_id as "handlerId", paces, allowed, per_target as "perTarget", weight_per_target as "weightPerTarget",
  rates
from target
where id = any($1::int[])`,
    values: [targetIds],
  });
  return rows;
};

/** Writes the rates that a grant used. */
export const writePaces = async (
  client: Client,
  of: 'handler' | 'target',
  paces: ReadonlyMap<number, readonly number[]>,
): Promise<void> => {
  if (paces.size === 0) return;
  await client.query({
    ...(of === 'handler' ? WRITE_HANDLER_PACES : WRITE_TARGET_PACES),
    values: [JSON.stringify([...paces].map(([id, all]) => ({ id, paces: all }))), [...paces.keys()]],
  });
};
const WRITE_HANDLER_PACES = {
  name: 'write-handler-paces',
  text: `
update handler h set paces = p.paces
from json_to_recordset($1) p (id int, paces float8[])
where h.id = any($2::int[]) and h.id = p.id`,
};
const WRITE_TARGET_PACES = {
  name: 'write-target-paces',
  text: `
update target t set paces = p.paces
from json_to_recordset($1) p (id int, paces float8[])
where t.id = any($2::int[]) and t.id = p.id`,
};
