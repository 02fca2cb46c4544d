import type { Handler } from '../../handlers/types';
import type { SharedRate } from '../../workflows/planning/limits/sharing';
import { ALIVE } from '../grouping/alive';
import type { Queryable } from '../pool';

/**
 * A limit that several handlers share. Its row is locked after those of leader and handler: claims
 * of the handlers take of it one after another.
 */

/**
 * Registers the limit that a handler shares; null: it shares none. Only workers do: who may submit
 * does not say what the key of others allows.
 */
export const registerShare = async (db: Queryable, handler: string, shared: Handler['sharesLimit']): Promise<void> => {
  if (shared !== null)
    await db.query({
      name: 'register-shared-limit',
      text: `
insert into shared_limit as s (name, concurrency, rates, defined)
values ($1, $2, $3, jsonb_build_object('concurrency', $2::int, 'rate', $3::jsonb))
on conflict (name) do update set
  concurrency = case when s.limits ? 'concurrency' then s.concurrency else excluded.concurrency end,
  rates = case when s.limits ? 'rate' then s.rates else excluded.rates end,
  defined = excluded.defined
where s.defined is distinct from excluded.defined`,
      values: [
        shared.name,
        shared.concurrency,
        JSON.stringify(shared.rates.map((rate) => ({ ...rate, scope: 'shared' }))),
      ],
    });
  await db.query({
    name: 'share-limit',
    text: `
update handler h set shares = (
  select s.id
  from shared_limit s
  where s.name = $2)
where h.name = $1 and h.shares is distinct from (
  select s.id
  from shared_limit s
  where s.name = $2)`,
    values: [handler, shared?.name ?? null],
  });
};

/** What a claim may take of a shared limit. */
export interface LockedShare {
  id: number;
  rates: SharedRate[];
  paces: number[];
  /** Handlers that want more than the rates left them; the one that asks counts. */
  active: number;
  /** When the handler that asks has had its share (Unix milliseconds). */
  ownMs: number;
}

/** Locks the limit that a handler shares. Null: it shares none any more. */
export const lockShare = async (db: Queryable, handlerId: number): Promise<LockedShare | null> => {
  const { rows } = await db.query<LockedShare>({
    name: 'lock-share',
    text: `
select s.id, s.rates, s.paces, coalesce(h.share_ms, 0) as "ownMs", 1 + (
  select count(*)::int
  from handler o
  where o.shares = s.id and o.id <> h.id and o.share_until > clock() and o.paused_at is null) as active
from handler h join shared_limit s on s.id = h.shares
where h.id = $1 for no key update of s`,
    values: [handlerId],
  });
  return rows[0] ?? null;
};

/** How long after it was last left without a handler counts as one that wants more. */
const WANTS_MS = 2_000;

/** Writes what a claim took, and whether its handler wants more: others leave it its part then. */
export const writeShare = async (
  db: Queryable,
  share: { id: number; handlerId: number; paces: readonly number[]; ownMs: number; wantsMs: number | null },
): Promise<void> => {
  await db.query({
    name: 'write-share',
    text: `
with s as (
  update shared_limit set paces = $3
  where id = $1)
update handler set share_ms = $4, share_until = to_timestamp(($5::float8 + ${WANTS_MS}) / 1000)
where id = $2`,
    values: [share.id, share.handlerId, share.paces, share.ownMs, share.wantsMs],
  });
};

/** Holds where a leader of handler `o` waits for slots, and the handler itself has some free. */
const WANTS_SLOTS = `(o.paused_at is null and (o.hold_until is null or o.hold_until <= clock())
  and exists (select from leader w where w.handler_id = o.id and w.blocked and w.wants_slots)
  and least(o.per_handler, o.allowed) > (
    select coalesce(sum(d.slots), 0)
    from dispatch d
    where d.handler_id = o.id and ${ALIVE}))`;

/** Holds where another handler waits for slots of the limit that the handler of this id shares. */
export const sharersWait = (handlerId: string): string => `exists (
  select from handler m join handler o on o.shares = m.shares and o.id <> m.id
  where m.id = ${handlerId} and ${WANTS_SLOTS})`;

/** Slots that all handlers hold that share a limit with handler `h`. */
const SHARED_TAKEN = `(
  select coalesce(sum(d.slots), 0)::int
  from handler o join dispatch d on d.handler_id = o.id
  where o.shares = h.shares and ${ALIVE})`;

/** Holds where handler `h` shares no limit of calls, or one of which calls are free. */
export const SHARED_FREE = `(h.shares is null or coalesce((
  select s.concurrency > ${SHARED_TAKEN}
  from shared_limit s
  where s.id = h.shares), true))`;

/** Holds where the handlers that share a limit with handler `h` hold more calls than it has. */
export const SHARED_OVER = `(h.shares is not null and coalesce((
  select s.concurrency < ${SHARED_TAKEN}
  from shared_limit s
  where s.id = h.shares), false))`;

/** Slots of all handlers that share a limit, by dispatch. */
export interface SharedSlots {
  /** Most calls at once of all of them; null: no limit. */
  concurrency: number | null;
  slots: { handler: number; leader: number; no: number; slots: number }[];
  /** Handlers that hold or want slots; the one that asks counts. */
  active: number;
  /** Another handler waits for slots. */
  blocked: boolean;
}

/** Locks the limit of this id, and reads its slots in a new snapshot. */
export const lockSharedSlots = async (db: Queryable, shareId: number, handlerId: number): Promise<SharedSlots> => {
  await db.query({
    name: 'lock-shared-limit',
    text: 'select from shared_limit where id = $1 for no key update',
    values: [shareId],
  });
  const { rows } = await db.query<SharedSlots>({
    name: 'read-shared-slots',
    text: `
select s.concurrency, coalesce((
    select json_agg(json_build_object('handler', d.handler_id, 'leader', d.leader_id, 'no', d.no, 'slots', d.slots)
      order by d.leader_id, d.no)
    from handler o join dispatch d on d.handler_id = o.id
    where o.shares = s.id and ${ALIVE}), '[]') as slots, 1 + (
  select count(*)::int
  from handler o
  where o.shares = s.id and o.id <> $2
    and (${WANTS_SLOTS} or exists (select from dispatch d where d.handler_id = o.id and ${ALIVE}))) as active,
  ${sharersWait('$2')} as blocked
from shared_limit s
where s.id = $1`,
    values: [shareId, handlerId],
  });
  return rows[0]!;
};
