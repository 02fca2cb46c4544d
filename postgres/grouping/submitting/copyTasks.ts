import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { from as copyFrom } from 'pg-copy-streams';
import type { Client } from '../../pool';
import type { LookedUpAtMs } from '../target';
import type { NewTask } from '../task';
import { insertBeside } from '../task';

/** Tasks that are in `task` and in no queue yet. */
export interface Copied {
  base: number;
  count: number;
  later: Later;
  /** Those of which more is written down. */
  marked: NewTask[];
}

/** Tasks of one submit whose time has not come. */
interface Later {
  seqs: number[];
  notBeforeMs: number[];
}

/**
 * Inserts many tasks fast: COPY into `task`, from which the database fills the queue itself: a
 * second COPY would cost this process as much as the first. A repeated id throws 23505, and the
 * caller must roll back. They are of one version and one trace context.
 */
export const copyTasks = async (
  client: Client,
  tasks: readonly NewTask[],
  lookedUpAtMs: LookedUpAtMs,
): Promise<void> => {
  const { version = null, trace = null } = tasks[0] ?? {};
  await queueCopied(client, await copyRows(client, tasks, { version, trace }, lookedUpAtMs));
};

/**
 * The first half of `copyTasks`: the tasks are asked for one by one, while the database stores
 * those before. Their number must not pass `SEQ_STRIDE`.
 */
export const copyRows = async (
  client: Client,
  tasks: Iterable<NewTask>,
  { version, trace }: Pick<NewTask, 'version' | 'trace'>,
  lookedUpAtMs: LookedUpAtMs,
): Promise<Copied> => {
  const { rows } = await client.query<{ base: number; now: string; nowMs: number; checked: boolean }>({
    name: 'begin-copy',
    text: `
select nextval('submit_seq') * 16384 as base, clock()::text as now,
  (extract(epoch from clock()) * 1000)::float8 as "nowMs",
  check_targets(to_timestamp($1::text::float8 / 1000)) as checked`,
    values: [String(lookedUpAtMs)],
  });
  const { base, now, nowMs } = rows[0]!;
  const isPlain = version === null && trace === null;
  const rest = isPlain ? '' : `\t${version ?? NULL}\t${trace ?? NULL}`;
  const copied: Copied = { base, count: 0, later: { seqs: [], notBeforeMs: [] }, marked: [] };
  const { later, marked } = copied;
  // Templates, not joined arrays: these lines are a third of what a submit costs this process.
  const line = (task: NewTask): string => {
    const seq = base + copied.count++;
    const { notBeforeMs } = task;
    if (notBeforeMs !== null && notBeforeMs > nowMs) {
      later.seqs.push(seq);
      later.notBeforeMs.push(notBeforeMs);
    }
    if (task.expiresAtMs !== null || task.labels !== null) marked.push(task);
    return (
      `${seq}\t${now}\t${task.targetId}\t${task.bytes}\t${task.priority}\t${task.recipientId ?? NULL}\t` +
      `${task.weight ?? NULL}\t${text(task.id)}\t${task.key === null ? NULL : text(task.key)}\t` +
      `${text(task.payload)}${rest}`
    );
  };
  await copy(client, isPlain ? COPY_PLAIN : COPY_ALL, tasks, line);
  return copied;
};

/** The second half of `copyTasks`, in the same transaction. */
export const queueCopied = async (client: Client, { base, count, later, marked }: Copied): Promise<void> => {
  await fillQueue(client, base, count, later);
  if (later.seqs.length > 0) await fillDelayed(client, later);
  await insertBeside(client, marked);
};

const fillQueue = async (client: Client, base: number, n: number, later: Later): Promise<void> => {
  await client.query({
    name: 'fill-queue',
    text: `
insert into queue (target_id, priority, seq, ready_at, bytes, weight, key)
select k.target_id, k.priority, k.seq, k.created_at, k.bytes, k.weight, k.key
from task k
where k.seq >= $1 and k.seq < $1 + $2 and not exists (select from unnest($3::bigint[]) l (seq) where l.seq = k.seq)`,
    values: [base, n, later.seqs],
  });
};

const fillDelayed = async (client: Client, later: Later): Promise<void> => {
  await client.query({
    name: 'fill-delayed',
    text: `
insert into delayed (target_id, priority, seq, not_before, bytes, weight, key)
select k.target_id, k.priority, k.seq, to_timestamp(l.not_before_ms / 1000), k.bytes, k.weight, k.key
from unnest($1::bigint[], $2::float8[]) l (seq, not_before_ms) join task k on k.seq = l.seq`,
    values: [later.seqs, later.notBeforeMs],
  });
};

const PLAIN = 'seq, created_at, target_id, bytes, priority, recipient_id, weight, id, key, payload';
const COPY_PLAIN = `copy task (${PLAIN}) from stdin`;
const COPY_ALL = `copy task (${PLAIN}, version, trace) from stdin`;
const NULL = '\\N';
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const text = (value: string): string =>
  /[\\\t\n\r]/.test(value) ? value.replace(/[\\\t\n\r]/g, (c) => ESCAPES[c]!) : value;

const CHUNK = 64 * 1024;
const copy = async (
  client: Client,
  statement: string,
  tasks: Iterable<NewTask>,
  line: (task: NewTask) => string,
): Promise<void> => {
  const chunks = function* (): Generator<string> {
    let chunk = '';
    for (const task of tasks) {
      chunk += `${line(task)}\n`;
      if (chunk.length > CHUNK) {
        yield chunk;
        chunk = '';
      }
    }
    if (chunk !== '') yield chunk;
  };
  await pipeline(Readable.from(chunks()), client.query(copyFrom(statement)));
};
