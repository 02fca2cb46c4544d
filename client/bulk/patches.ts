import { setImmediate } from 'node:timers/promises';
import { CodecError, NO_CODEC } from '../../handlers/codec/codecError';
import { isEnvelope } from '../../handlers/codec/envelope';
import type { Sealer } from '../../handlers/codec/sealer';
import { FIRST_VERSION, storedVersionOf, versionOf } from '../../handlers/contracts/payloadVersion';
import { cutText } from '../../handlers/text';
import type { Contract } from '../../handlers/types';
import type { NewPayload, PayloadRow } from '../../postgres/bulk/payloads';
import { readPayloads, setPayloads } from '../../postgres/bulk/payloads';
import type { Client as Transaction, Pool } from '../../postgres/pool';
import { KEEPS_PAYLOAD } from '../../workflows/planning/bulk/actions';
import type { JsonObject } from '../../workflows/planning/bulk/mergePatch';
import { encodedLimit } from '../tasks/sealPayloads';
import { dropObjects, keepObjects, noting } from '../transactions/keptObjects';
import { patchTask } from './patchTask';

/** What a merge patch makes of some tasks, before they are locked. */
export interface Patches {
  /** The payloads as they were read, by seq. */
  read: ReadonlyMap<number, PayloadRow>;
  changed: ReadonlyMap<number, NewPayload>;
  /** Why a task keeps its payload, by seq. */
  refused: ReadonlyMap<number, string>;
  /** Why tasks wait for a newer program, by seq. */
  newer: ReadonlyMap<number, string>;
  /** Of the new payloads. */
  version: number | null;
}

interface Patching {
  pool: Pool;
  sealer: Sealer | null;
}

/** For so long payloads are checked before others get this thread. */
const BUSY_MS = 20;
/** Most characters of what a handler says of a payload. */
const DETAIL_MAX = 200;
/** Bytes of payloads that one step changes, where all are as large as they may be. */
const STEP_BYTES = 32 * 1024 * 1024;

/** Returns how many payloads one step changes at most. */
export const patchedPerStep = ({ maxPayloadBytes }: Contract, most: number): number =>
  Math.max(1, Math.min(most, Math.floor(STEP_BYTES / maxPayloadBytes)));

/**
 * Decides what a patch makes of tasks, and encodes nothing yet. Throws where that cannot be said
 * now, as the codec does not work.
 */
export const decidePatches = async (
  { pool, sealer }: Patching,
  handler: Contract,
  patch: JsonObject,
  seqs: readonly number[],
): Promise<Patches> => {
  const rows = await readPayloads(pool, seqs);
  const newer = new Map<number, string>();
  for (const row of rows) {
    const why = newerThan(handler, row);
    if (why !== null) newer.set(row.seq, why);
  }
  const known = rows.filter(({ seq }) => !newer.has(seq));
  const opened = await openAll(sealer, known);
  const changed = new Map<number, NewPayload>();
  const refused = new Map<number, string>();
  let yieldedAt = performance.now();
  for (const [i, row] of known.entries()) {
    if (performance.now() - yieldedAt > BUSY_MS) {
      await setImmediate();
      yieldedAt = performance.now();
    }
    const { seq } = row;
    const payload = opened[i]!;
    const patched =
      typeof payload === 'string'
        ? patchTask(handler, { ...row, payload }, patch)
        : ({ refusal: 'unreadable', detail: payload.message } as const);
    if (patched === null) continue;
    if ('refusal' in patched) refused.set(seq, reasonOf(sealer, patched));
    else changed.set(seq, { seq, ...patched });
  }
  const read = new Map(rows.map((row) => [row.seq, row]));
  return { read, changed, refused, newer, version: storedVersionOf(handler) };
};

/** Encodes the new payloads; those that are too large then are refused. */
export const sealPatches = async (client: Patching, handler: Contract, plain: Patches): Promise<Patches> => {
  const { pool, sealer } = client;
  if (sealer === null || plain.changed.size === 0) return plain;
  const { tasks, payloads, ids } = toSeal(plain);
  const sealed = await sealer.seal('payload', payloads, ids, noting(pool, sealer));
  const changed = new Map<number, NewPayload>();
  const refused = new Map(plain.refused);
  for (const [i, task] of tasks.entries())
    if (Buffer.byteLength(sealed[i]!) > encodedLimit(handler)) refused.set(task.seq, KEEPS_PAYLOAD.large);
    else changed.set(task.seq, { ...task, payload: sealed[i]! });
  return { ...plain, changed, refused };
};

/** Returns those of the new payloads that are too large once they are encoded. Stores nothing. */
export const tooLarge = async (
  { sealer }: Pick<Patching, 'sealer'>,
  handler: Contract,
  plain: Patches,
): Promise<ReadonlySet<number>> => {
  if (sealer === null || plain.changed.size === 0) return new Set();
  const { tasks, payloads, ids } = toSeal(plain);
  const bytes = await sealer.sealedBytes('payload', payloads, ids);
  return new Set(tasks.flatMap(({ seq }, i) => (bytes[i]! > encodedLimit(handler) ? [seq] : [])));
};

const toSeal = ({ changed, read }: Patches): { tasks: NewPayload[]; payloads: string[]; ids: string[] } => {
  const tasks = [...changed.values()];
  const payloads = tasks.map(({ payload }) => payload);
  return { tasks, payloads, ids: tasks.map(({ seq }) => read.get(seq)!.id) };
};

/** Writes the new payloads of those of the tasks that get one. */
export const writePatches = async (
  tx: Transaction,
  { sealer, handlerId }: { sealer: Sealer | null; handlerId: number },
  { read, changed, version }: Patches,
  seqs: readonly number[],
): Promise<void> => {
  const tasks = seqs.flatMap((seq) => changed.get(seq) ?? []);
  if (tasks.length === 0) return;
  await setPayloads(tx, tasks, version);
  await keepObjects(
    tx,
    sealer,
    tasks.map(({ payload }) => payload),
  );
  await dropObjects(
    tx,
    sealer,
    handlerId,
    tasks.map(({ seq }) => read.get(seq)!.payload),
  );
};

const openAll = async (sealer: Sealer | null, rows: readonly PayloadRow[]): Promise<(string | CodecError)[]> => {
  const payloads = rows.map(({ payload }) => payload);
  if (sealer === null) {
    // Not the fault of the task: another worker may have it.
    if (payloads.some(isEnvelope)) throw new CodecError(NO_CODEC, true);
    return payloads;
  }
  const ids = rows.map(({ id }) => id);
  const opened = await sealer.open('payload', payloads, ids);
  const away = opened.find((one) => typeof one !== 'string' && one.away);
  if (away !== undefined) throw away;
  return opened;
};

/** Says that a payload is newer than this program; null: it is not. */
const newerThan = (handler: Contract, { id, version }: PayloadRow): string | null => {
  const ours = versionOf(handler);
  if ((version ?? FIRST_VERSION) <= ours) return null;
  return (
    `the payload of task ${JSON.stringify(id)} is of version ${version}, and this worker knows handler ` +
    `"${handler.name}" up to version ${ours}. It waits for a worker with the newer code: deploy that`
  );
};

/** With a codec nothing that may quote a payload is in a reason. */
const reasonOf = (
  sealer: Sealer | null,
  { refusal, detail }: { refusal: keyof typeof KEEPS_PAYLOAD; detail?: string },
): string => {
  const reason = KEEPS_PAYLOAD[refusal];
  return detail === undefined || sealer?.sealsTexts === true ? reason : `${reason}; ${cutText(detail, DETAIL_MAX)}`;
};
