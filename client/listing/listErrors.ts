import type { Sealer } from '../../handlers/codec/sealer';
import type { ErrorRow, ErrorScope } from '../../postgres/listing/errors';
import * as store from '../../postgres/listing/errors';
import { readTime } from '../../postgres/time';
import type { ErrorList } from '../../workflows/contracts/errors';
import { DAY_MS } from '../../workflows/planning/duration';
import type { CountedError, ErrorGroup, ErrorSource } from '../../workflows/planning/errors/group';
import { groupErrors } from '../../workflows/planning/errors/group';
import { remedyOf } from '../../workflows/planning/errors/remedies';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { BATCH_STATES } from '../../workflows/planning/states';
import { checkTime, checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { findScope } from '../operations/scope';

/** Options of `errors.list`: which errors are counted. */
export interface ListErrorsOptions {
  /** Only errors of this handler; default: of all, and of callbacks of fan-outs. */
  handler?: string;
  /** Only errors since this time: a date, ISO time or Unix milliseconds. Default: a day ago. */
  since?: Date | string | number;
  /** Most groups, 1 to 1,000. Default 50. */
  limit?: number;
}

/** Newest rows that are read of each table. */
const LOOKED = 10_000;
/** The same where each of their texts must be decoded. */
const DECODED = 1_000;
const CHARACTERS = 500;

const SOURCES = [
  store.countEndedAlone,
  store.countEndedBatches,
  store.countTroubled,
  store.countRetried,
  store.countUndelivered,
] as const;

export const listErrors = async (client: ClientContext, options: ListErrorsOptions = {}): Promise<ErrorList> => {
  const limit = checkWhole('limit', options.limit ?? 50, 1, PAGE_MAX);
  const given = options.since === undefined ? null : checkTime('since', options.since);
  const handlerId = options.handler === undefined ? null : (await findScope(client, options.handler)).handlerId;
  await client.ready();
  const since = given ?? new Date(Date.parse(await readTime(client.pool)) - DAY_MS);
  const isSealed = client.sealer?.sealsTexts === true;
  const looked = isSealed ? DECODED : LOOKED;
  const scope: ErrorScope = { handlerId, since, looked, characters: isSealed ? null : CHARACTERS };
  const found = await Promise.all(SOURCES.map((count) => count(client.pool, scope)));
  const read = found.map((rows) => rows.reduce((sum, { rows: n }) => sum + n, 0));
  const mine = found.flatMap((rows) => rows.filter((row) => row.mine));
  const groups = groupErrors(await opened(client.sealer, mine)).slice(0, limit);
  const ids = await store.readIds(
    client.pool,
    groups.flatMap(({ tasks }) => tasks),
  );
  return {
    errors: groups.map((group) => toView(group, ids)),
    since: since.toISOString(),
    looked: read.reduce((sum, n) => sum + n, 0),
    complete: read.every((n) => n < looked),
  };
};

/** Decodes each text once. */
const opened = async (sealer: Sealer | null, rows: readonly ErrorRow[]): Promise<CountedError[]> => {
  const texts = [...new Set(rows.map(({ error }) => error ?? ''))];
  const plain = sealer === null ? texts : await sealer.openTexts(texts);
  const by = new Map(texts.map((text, i) => [text, plain[i]!]));
  return rows.map((row) => {
    const of = sourceOf(row.state);
    return {
      handler: row.handler,
      of,
      text: by.get(row.error ?? '')!,
      count: row.count,
      firstMs: row.first.getTime(),
      lastMs: row.last.getTime(),
      tasks: of === 'callback' ? [] : row.ids,
      batches: row.batches ?? [],
      callbacks: of === 'callback' ? row.ids : [],
    };
  });
};

const STATES: Readonly<Record<number, ErrorSource>> = {
  [BATCH_STATES.open]: 'retrying',
  [BATCH_STATES.unknown]: 'unknown',
  [BATCH_STATES.failed]: 'failed',
  [BATCH_STATES.dead]: 'dead',
};
const sourceOf = (state: number): ErrorSource => STATES[state] ?? 'callback';

const toView = (group: ErrorGroup, ids: ReadonlyMap<number, string>): ErrorList['errors'][number] => {
  const { firstMs, lastMs, tasks, batches, callbacks, ...rest } = group;
  return {
    ...rest,
    first: new Date(firstMs).toISOString(),
    last: new Date(lastMs).toISOString(),
    tasks: tasks.flatMap((seq) => ids.get(seq) ?? []),
    batches: [...new Set(batches)],
    callbacks: [...callbacks],
    ...remedyOf(group.handler, group.of, group.text),
  };
};
