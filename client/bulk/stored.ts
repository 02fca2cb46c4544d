import type { Sealer } from '../../handlers/codec/sealer';
import type { BulkRow, ShownBulk } from '../../postgres/bulk/action';
import type { BulkView } from '../../workflows/contracts/bulk';
import { bulkStateName } from '../../workflows/planning/bulk/states';
import type { JsonObject } from '../../workflows/planning/bulk/mergePatch';
import type { Standing } from '../../workflows/planning/bulk/waits';
import { waitsFor } from '../../workflows/planning/bulk/waits';
import type { Change } from '../../workflows/planning/bulk/update';
import type { TaskState } from '../../workflows/planning/states';
import { openCompared } from './compared';
import type { CheckedVerdict } from '../operations/resolve';
import { sealVerdict } from '../operations/resolve';

/** The filter of a bulk action in its row. Texts of errors are encoded, with a codec. */
export interface StoredFilter {
  state: TaskState;
  id?: string;
  target?: string;
  tag?: string;
  error?: string;
  errorCode?: string;
  errorGroup?: string;
  since?: string;
  until?: string;
  limit?: number;
}

/** What a bulk action does, in its row. */
export type StoredDeed =
  | { do: 'cancel' }
  | { do: 'redrive' }
  | ({ do: 'resolve' } & CheckedVerdict & { as: 'succeeded' | 'failed' })
  | StoredUpdate;

/** A change of waiting tasks. */
export interface StoredUpdate extends Change {
  do: 'update';
  /** JSON text of a merge patch, encoded where texts are. */
  payloadPatch?: string;
  /** Of the handler where it was started: an older one might drop what is new. None: the first. */
  payloadVersion?: number;
}

const ERRORS = ['error', 'errorCode', 'errorGroup'] as const;

/** Encodes what may stand in errors or results. */
export const sealBulk = async (
  sealer: Sealer | null,
  { filter, deed }: { filter: StoredFilter; deed: StoredDeed },
): Promise<{ filter: StoredFilter; deed: StoredDeed }> => {
  if (sealer === null) return { filter, deed };
  const sealed: StoredFilter = { ...filter };
  for (const field of ERRORS) if (filter[field] !== undefined) sealed[field] = await sealer.sealText(filter[field]);
  if (deed.do === 'update' && deed.payloadPatch !== undefined)
    return { filter: sealed, deed: { ...deed, payloadPatch: await sealer.sealText(deed.payloadPatch) } };
  if (deed.do !== 'resolve') return { filter: sealed, deed };
  return { filter: sealed, deed: { ...deed, ...(await sealVerdict({ sealer }, deed)), as: deed.as } };
};

/** Decodes the filter of a row. Throws as `openCompared` does. */
export const openFilter = async (sealer: Sealer | null, filter: StoredFilter): Promise<StoredFilter> => {
  const opened: StoredFilter = { ...filter };
  for (const field of ERRORS)
    if (filter[field] !== undefined) opened[field] = (await openCompared(sealer, [filter[field]]))[0]!;
  return opened;
};

/** Decodes the patch of an update that has one. Throws if the codec cannot. */
export const openPatch = async (sealer: Sealer | null, deed: StoredDeed): Promise<JsonObject> => {
  const stored = (deed as StoredUpdate).payloadPatch!;
  const [text] = sealer === null ? [stored] : await sealer.openTexts([stored]);
  try {
    return JSON.parse(text!) as JsonObject;
  } catch {
    throw new Error(`Cannot read the patch of payloads: ${text}. Give the worker the codec that encoded it.`);
  }
};

export const filterOf = (row: BulkRow): StoredFilter => row.filter as unknown as StoredFilter;
export const deedOf = (row: BulkRow): StoredDeed => row.action as unknown as StoredDeed;

/** Counts the tasks that could not be changed. */
export const failedOf = (failures: Readonly<Record<string, number>>): number =>
  Object.values(failures).reduce((sum, n) => sum + n, 0);

export const toBulkView = (row: ShownBulk): BulkView => {
  const { limit = null, ...where } = filterOf(row);
  const failed = failedOf(row.failures);
  const looked = row.done + row.skipped + failed;
  const seconds = row.seconds === null ? null : Math.max(row.seconds, 0.001);
  return {
    id: row.id,
    handler: row.handler,
    action: shownDeed(deedOf(row)),
    where,
    limit,
    state: bulkStateName(row.state),
    total: row.total,
    done: row.done,
    skipped: row.skipped,
    failed,
    failures: row.failures,
    perSecond: seconds === null ? null : Math.round((10 * looked) / seconds) / 10,
    error: row.error,
    waitsFor: waitsFor(standingOf(row)),
    who: row.who,
    door: row.door,
    origin: row.origin,
    createdAt: row.createdAt.toISOString(),
    changedAt: row.changedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
  };
};

const standingOf = (row: ShownBulk): Standing => {
  const { payloadPatch, payloadVersion = null } = deedOf(row) as StoredUpdate;
  return { ...row, needsHandler: payloadPatch !== undefined, payloadVersion };
};

const shownDeed = (deed: StoredDeed): BulkView['action'] => {
  if (deed.do === 'resolve') return { do: deed.do, as: deed.as, ...(deed.error === null ? {} : { error: deed.error }) };
  if (deed.do !== 'update') return { do: deed.do };
  const { notBeforeMs, expiresAtMs, ...rest } = deed;
  return { ...rest, ...shownTime('notBefore', notBeforeMs), ...shownTime('expiresAt', expiresAtMs) };
};

const shownTime = (field: string, ms: number | null | undefined): Record<string, string | null> =>
  ms === undefined ? {} : { [field]: ms === null ? null : new Date(ms).toISOString() };
