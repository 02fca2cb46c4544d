import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { from as copyFrom } from 'pg-copy-streams';
import type { Client } from '../../pool';
import type { LookedUpAtMs } from '../target';
import type { NewTask } from '../task';
import { insertBeside } from '../task';

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
  const { rows } = await client.query<{ base: number; now: string; nowMs: number; checked: boolean }>({
    name: 'begin-copy',
    text: `
select nextval('submit_seq') * 16384 as base, clock()::text as now,
  (extract(epoch from clock()) * 1000)::float8 as "nowMs",
  check_targets(to_timestamp($1::text::float8 / 1000)) as checked`,
    values: [String(lookedUpAtMs)],
  });
  const { base, now, nowMs } = rows[0]!;
  const isPlain = tasks[0]?.version == null && tasks[0]?.trace == null;
  // Templates, not joined arrays: these lines are a third of what a submit costs this process.
  await copy(
    client,
    isPlain ? COPY_PLAIN : COPY_ALL,
    tasks,
    (task, i) =>
      `${base + i}\t${now}\t${task.targetId}\t${task.bytes}\t${task.priority}\t` +
      `${task.recipientId ?? NULL}\t${task.weight ?? NULL}\t${text(task.id)}\t${task.key === null ? NULL : text(task.key)}\t${text(task.payload)}` +
      (isPlain ? '' : `\t${task.version ?? NULL}\t${task.trace ?? NULL}`),
  );
  const later: Later = { seqs: [], notBeforeMs: [] };
  for (const [i, { notBeforeMs }] of tasks.entries())
    if (notBeforeMs !== null && notBeforeMs > nowMs) {
      later.seqs.push(base + i);
      later.notBeforeMs.push(notBeforeMs);
    }
  await fillQueue(client, base, tasks.length, later);
  if (later.seqs.length > 0) await fillDelayed(client, later);
  await insertBeside(client, tasks);
};

/** Tasks of one submit whose time has not come. */
interface Later {
  seqs: number[];
  notBeforeMs: number[];
}

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
  tasks: readonly NewTask[],
  line: (task: NewTask, i: number) => string,
): Promise<void> => {
  const chunks = function* (): Generator<string> {
    let chunk = '';
    for (const [i, task] of tasks.entries()) {
      chunk += `${line(task, i)}\n`;
      if (chunk.length > CHUNK) {
        yield chunk;
        chunk = '';
      }
    }
    if (chunk !== '') yield chunk;
  };
  await pipeline(Readable.from(chunks()), client.query(copyFrom(statement)));
};
