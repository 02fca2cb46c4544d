import type { Handler } from '../../handlers/types';
import type { LimitName, LimitValues } from '../../workflows/planning/limits/limits';
import { registerPartitions } from '../nodes/partition';
import type { Queryable } from '../pool';

/** A handler's row: its settings, and its state as the ring reads it. */
export interface HandlerRow {
  id: number;
  name: string;
  leaders: number;
}

/**
 * Number of leaders for `leaders: 'auto'`: each leads a set of targets, from the first target on.
 * Each turn of a leader costs processor time, however little it claims, so fewer leaders are
 * cheaper; of two, one still claims while the other's process is found to be dead.
 */
const AUTO_LEADERS = 2;
const leaderCount = (leaders: Handler['leaders']): number =>
  leaders === 'auto' ? AUTO_LEADERS : leaders === 'target' ? 0 : leaders;

/** Returns the limits that can be changed at run time, as the handler's definition has them. */
const definedLimits = ({ rates, concurrency, limits }: Handler): LimitValues => ({
  rate: rates,
  'concurrency.perTarget': concurrency.perTarget,
  'concurrency.perHandler': concurrency.perHandler,
  'maxWeightInFlight.perTarget': limits.maxWeightInFlight.perTarget ?? null,
  'maxWeightInFlight.perHandler': limits.maxWeightInFlight.perHandler ?? null,
});

/** Returns what the ring, the claim and other processes read of a handler, by column. */
const settingsOf = (handler: Handler): object => ({
  leaders: handler.affinity?.partitions ?? leaderCount(handler.leaders),
  partitions: handler.affinity?.partitions ?? 0,
  needs: handler.affinity?.attributes ?? {},
  max_items: handler.limits.maxItems,
  max_bytes: handler.limits.maxBytes ?? null,
  overhead_bytes: handler.limits.overheadBytes,
  max_weight: handler.limits.maxWeight ?? null,
  min_items: handler.limits.minItems,
  linger_ms: handler.linger.lingerMs,
  quiet_ms: handler.linger.quietPeriodMs ?? null,
  per_target: handler.concurrency.perTarget,
  per_handler: handler.concurrency.perHandler,
  weight_per_target: handler.limits.maxWeightInFlight.perTarget ?? null,
  weight_per_handler: handler.limits.maxWeightInFlight.perHandler ?? null,
  rates: handler.rates,
  keyed: handler.distinctBy !== undefined,
  coalesces: handler.coalesceBy !== undefined,
  queued_per_target: handler.maxQueued.perTarget ?? null,
  queued_per_handler: handler.maxQueued.perHandler ?? null,
  retention_ms: handler.retentionMs,
  timeout_ms: handler.timeoutMs,
  cancels: handler.cancel !== undefined,
  hands_dependencies: handler.lane.dependencies === 'downstream',
  defined: definedLimits(handler),
  ordered: handler.ordered,
  max_payload_bytes: handler.maxPayloadBytes,
});

/** `$1`: the name, `$2`: the settings. */
const INSERT = `
insert into handler as h (name, leaders, max_items, max_bytes, overhead_bytes, max_weight, min_items, linger_ms,
  quiet_ms, per_target, per_handler,
  weight_per_target, weight_per_handler, rates, keyed, queued_per_target, queued_per_handler, retention_ms,
    timeout_ms, partitions, needs, cancels, hands_dependencies, defined, ordered, max_payload_bytes,
    coalesces)
select $1, s.leaders, s.max_items, s.max_bytes, s.overhead_bytes, s.max_weight, s.min_items, s.linger_ms, s.quiet_ms,
  s.per_target, s.per_handler,
  s.weight_per_target, s.weight_per_handler, s.rates, s.keyed, s.queued_per_target, s.queued_per_handler,
    s.retention_ms, s.timeout_ms, s.partitions, s.needs, s.cancels, s.hands_dependencies, s.defined, s.ordered,
    s.max_payload_bytes, s.coalesces
from json_populate_record(null::handler, $2) s`;

/** SQL of a limit that was set at run time in place of the definition's; null: none was. */
const set = (limit: LimitName, type: 'int' | 'float8'): string => `(h.limits->'${limit}'->>'value')::${type}`;

/**
 * Writes the handler's settings where the ring, the claim and other processes read them; writes
 * nothing if nothing changed.
 */
export const registerHandler = async (db: Queryable, handler: Handler): Promise<HandlerRow> => {
  await db.query({
    name: 'register-handler',
    text: `${INSERT}
on conflict (name) do update set leaders = excluded.leaders, max_items = excluded.max_items,
  max_bytes = excluded.max_bytes,
  overhead_bytes = excluded.overhead_bytes, max_weight = excluded.max_weight, min_items = excluded.min_items,
    linger_ms = excluded.linger_ms,
  quiet_ms = excluded.quiet_ms,
  per_target = coalesce(${set('concurrency.perTarget', 'int')}, excluded.per_target),
  per_handler = coalesce(${set('concurrency.perHandler', 'int')}, excluded.per_handler),
  weight_per_target = coalesce(${set('maxWeightInFlight.perTarget', 'float8')}, excluded.weight_per_target),
  weight_per_handler = coalesce(${set('maxWeightInFlight.perHandler', 'float8')}, excluded.weight_per_handler),
  rates = coalesce(h.limits->'rate'->'value', excluded.rates), defined = excluded.defined, keyed = excluded.keyed,
    queued_per_target = excluded.queued_per_target,
  queued_per_handler = excluded.queued_per_handler, retention_ms = excluded.retention_ms,
    timeout_ms = excluded.timeout_ms,
  partitions = excluded.partitions, needs = excluded.needs, cancels = excluded.cancels,
  hands_dependencies = excluded.hands_dependencies, ordered = excluded.ordered,
  max_payload_bytes = excluded.max_payload_bytes, coalesces = excluded.coalesces
where (h.leaders, h.max_items, h.max_bytes, h.overhead_bytes, h.max_weight, h.min_items, h.linger_ms, h.quiet_ms,
  h.defined, h.keyed, h.queued_per_target, h.queued_per_handler,
    h.retention_ms, h.timeout_ms,
  h.partitions, h.needs, h.cancels, h.hands_dependencies, h.ordered, h.max_payload_bytes,
  h.coalesces)
  is distinct from (excluded.leaders, excluded.max_items, excluded.max_bytes, excluded.overhead_bytes,
    excluded.max_weight, excluded.min_items,
  excluded.linger_ms, excluded.quiet_ms, excluded.defined, excluded.keyed, excluded.queued_per_target,
  excluded.queued_per_handler, excluded.retention_ms,
    excluded.timeout_ms,
  excluded.partitions, excluded.needs, excluded.cancels, excluded.hands_dependencies, excluded.ordered,
  excluded.max_payload_bytes, excluded.coalesces)`,
    values: [handler.name, JSON.stringify(settingsOf(handler))],
  });
  return registered(db, handler);
};

/**
 * Writes the settings of a handler of which only the contract is known, unless it is registered:
 * those of the workers that serve it count.
 */
export const registerContract = async (db: Queryable, handler: Handler): Promise<HandlerRow> => {
  await db.query({
    name: 'register-contract',
    text: `${INSERT}
on conflict (name) do nothing`,
    values: [handler.name, JSON.stringify(settingsOf(handler))],
  });
  return registered(db, handler);
};

const registered = async (db: Queryable, handler: Handler): Promise<HandlerRow> => {
  const row = await findHandler(db, handler.name);
  if (row === null) throw new Error(`handler ${handler.name}: registered but not found`);
  if (handler.affinity !== null) await registerPartitions(db, row.id, handler.name, handler.affinity.partitions);
  return row;
};

export const findHandler = async (db: Queryable, name: string): Promise<HandlerRow | null> => {
  const { rows } = await db.query<{ id: number; name: string; leaders: number }>({
    name: 'find-handler',
    text: 'select id, name, leaders from handler where name = $1',
    values: [name],
  });
  return rows[0] ?? null;
};

/**
 * Stops claims of all the handler's targets; batches already in a call finish. False: there is no
 * such handler.
 */
export const pauseHandler = async (db: Queryable, name: string, reason: string): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'pause-handler',
    text: 'update handler set paused_at = coalesce(paused_at, clock()), pause_reason = $2 where name = $1',
    values: [name, reason],
  });
  return rowCount === 1;
};

/**
 * Lets the handler go on, also from a hold. The caller rings the handler's targets after the
 * commit.
 */
export const resumeHandler = async (db: Queryable, name: string): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'resume-handler',
    text: 'update handler set paused_at = null, pause_reason = null, hold_until = null where name = $1',
    values: [name],
  });
  return rowCount === 1;
};

/** Says whether a worker has registered a handler of this name. */
export const isRegisteredHandler = async (db: Queryable, name: string): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'is-registered-handler',
    text: 'select from handler where name = $1',
    values: [name],
  });
  return rowCount === 1;
};
