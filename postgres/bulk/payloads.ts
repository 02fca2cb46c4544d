import type { Client, Queryable } from '../pool';
import { NAMED } from './waiting';

/** Statements that change the payloads of waiting tasks. */

/** A task with its payload as it is stored, and what was computed from that. */
export interface PayloadRow {
  seq: number;
  id: string;
  target: string;
  payload: string;
  /** Null: the first. */
  version: number | null;
  key: string | null;
  /** Null: 1. */
  weight: number | null;
  /** By which it is seen whether all of it is still so (`WaitingRow`). */
  rowVersion: string;
}

export const readPayloads = async (db: Queryable, seqs: readonly number[]): Promise<PayloadRow[]> => {
  const { rows } = await db.query<PayloadRow>({
    name: 'read-payloads',
    text: `
select k.seq, k.id, t.key as target, k.payload::text as payload, k.version, k.key, k.weight,
  k.xmin::text as "rowVersion"
from task k join target t on t.id = k.target_id
where k.seq = any($1::bigint[])`,
    values: [seqs],
  });
  return rows;
};

/** A payload as it is to be stored, with what was computed from it. */
export interface NewPayload {
  seq: number;
  payload: string;
  bytes: number;
  weight: number | null;
}

/**
 * Sets the payloads of waiting tasks, wherever they wait, with their bytes and weight, in the
 * transaction that has locked their targets. `version`: that of the new payloads.
 */
export const setPayloads = async (
  client: Client,
  tasks: readonly NewPayload[],
  version: number | null,
): Promise<void> => {
  await client.query({
    name: 'set-payloads',
    text: `
with ${NAMED},
given as materialized (
  select *
  from unnest($1::bigint[], $2::text[], $3::int[], $4::float8[]) g (seq, payload, bytes, weight)),
queued as (
  update queue q set (bytes, weight) = (select g.bytes, g.weight from given g where g.seq = q.seq)
  where q.ctid = any(array(select n.at from named n where n.at is not null))),
later as (
  update delayed d set (bytes, weight) = (select g.bytes, g.weight from given g where g.seq = d.seq)
  where d.seq = any($1::bigint[]))
update task k set version = $5,
  (payload, bytes, weight) = (select g.payload::json, g.bytes, g.weight from given g where g.seq = k.seq)
where k.seq = any($1::bigint[])`,
    values: [
      tasks.map(({ seq }) => seq),
      tasks.map(({ payload }) => payload),
      tasks.map(({ bytes }) => bytes),
      tasks.map(({ weight }) => weight),
      version,
    ],
  });
};
