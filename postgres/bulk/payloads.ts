import type { Client, Queryable } from '../pool';
import { NAMED } from './waiting';

/** Statements that change the payloads of waiting tasks. */

/** Part of statements: a hash of all that a change of a payload replaces. */
const PRINT = `hashtextextended(
  concat_ws(' ', coalesce(k.version, 1), coalesce(k.weight, 1), k.payload::text), 0)::text`;

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
  /** By which it is seen whether payload, version and weight are still these. */
  print: string;
}

export const readPayloads = async (db: Queryable, seqs: readonly number[]): Promise<PayloadRow[]> => {
  const { rows } = await db.query<PayloadRow>({
    name: 'read-payloads',
    text: `
select k.seq, k.id, t.key as target, k.payload::text as payload, k.version, k.key, k.weight,
  ${PRINT} as print
from task k join target t on t.id = k.target_id
where k.seq = any($1::bigint[])`,
    values: [seqs],
  });
  return rows;
};

/** Returns those of the tasks that are as they were read, by their print. */
export const findUnchanged = async (
  client: Client,
  tasks: readonly Pick<PayloadRow, 'seq' | 'print'>[],
): Promise<number[]> => {
  const { rows } = await client.query<{ seq: number }>({
    name: 'find-unchanged',
    text: `
select k.seq
from unnest($1::bigint[], $2::text[]) p (seq, print) join task k on k.seq = p.seq
where ${PRINT} = p.print`,
    values: [tasks.map(({ seq }) => seq), tasks.map(({ print }) => print)],
  });
  return rows.map(({ seq }) => seq);
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
