import { randomUUID } from 'node:crypto';
import { NORMALISED_MAX } from '../../workflows/planning/errors/normalise';
import type { BulkVerb } from '../../workflows/planning/bulk/actions';
import { BULK_VERBS, STATES_OF_ACTION } from '../../workflows/planning/bulk/actions';
import { KNOWN_FILTER } from '../../workflows/planning/bulk/fields';
import { hasMember, isJsonObject } from '../../workflows/planning/bulk/mergePatch';
import { depthOf, MAX_JSON_DEPTH } from '../../workflows/planning/jsonText';
import { LOWER_UUID } from '../../workflows/planning/uuid';
import type { TaskState } from '../../workflows/planning/states';
import { checkErrorPart, checkName, checkOneOf, checkTime, checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { InvalidArgumentError } from '../errors';
import { checkVerdict } from '../operations/resolve';
import { MAX_ID_BYTES } from '../tasks/checkTasks';
import { checkTag } from '../tasks/labels/check';
import type { BulkDeed, BulkFilter, BulkInput } from './input';
import type { StoredDeed, StoredFilter } from './stored';

const CODE_MAX = 100;
const LOWER = new RegExp(`^${LOWER_UUID}$`);
const MOST = 1_000_000_000;

export const checkBulkId = (id: unknown): string => {
  if (typeof id !== 'string' || !LOWER.test(id))
    throw new InvalidArgumentError('id', 'the id of a bulk action, a UUID in lower case', id);
  return id;
};

/** Returns the id that was given, or a new one. */
export const newBulkId = (given: string | undefined): string =>
  given === undefined ? randomUUID() : checkBulkId(given);

/** A bulk action as it is stored, before its texts are encoded. */
export interface CheckedBulk {
  filter: StoredFilter;
  deed: StoredDeed;
}

export const checkBulk = (client: Pick<ClientContext, 'sealer'>, input: BulkInput): CheckedBulk => {
  const verb = checkOneOf('action.do', input?.action?.do, BULK_VERBS);
  refuseOthers('action', input.action, FIELDS[verb]);
  const where = input.where ?? {};
  refuseOthers('where', where, FILTER);
  const filter: StoredFilter = {
    state: checkState(verb, where.state),
    ...given('id', where.id, checkTaskId),
    ...given('target', where.target, checkName),
    ...given('tag', where.tag, checkTag),
    ...given('error', where.error, checkErrorPart),
    ...given('errorCode', where.errorCode, (field, value) => checkText(field, value, CODE_MAX)),
    ...given('errorGroup', where.errorGroup, (field, value) => checkText(field, value, NORMALISED_MAX)),
    ...given('since', where.since, (field, value) => checkTime(field, value).toISOString()),
    ...given('until', where.until, (field, value) => checkTime(field, value).toISOString()),
    ...(input.limit === undefined ? {} : { limit: checkWhole('limit', input.limit, 1, MOST) }),
  };
  return { filter, deed: checkDeed(client, input.action) };
};

/** `limit` stands beside them. */
const FILTER = KNOWN_FILTER.filter((field) => field !== 'limit');
const FIELDS: Readonly<Record<BulkVerb, readonly string[]>> = {
  cancel: ['do'],
  redrive: ['do'],
  resolve: ['do', 'as', 'result', 'error'],
  update: ['do', 'payloadPatch', 'priority', 'weight', 'notBefore', 'expiresAt'],
};

/** A field that is misspelt would change more tasks than are meant. */
const refuseOthers = (of: string, value: object, known: readonly string[]): void => {
  const other = Object.keys(value).find((field) => !known.includes(field));
  if (other !== undefined) throw new InvalidArgumentError(`${of}.${other}`, `only ${known.join(', ')}`, other);
};

const given = <F extends keyof BulkFilter, T>(
  field: F,
  value: unknown,
  check: (field: string, value: unknown) => T,
): Partial<Record<F, T>> =>
  value === undefined
    ? {}
    : ({ [field]: storable(`where.${field}`, check(`where.${field}`, value)) } as Partial<Record<F, T>>);

/** Refuses text that Postgres does not store: no error or target contains it. */
const storable = <T>(field: string, value: T): T => {
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
    throw new InvalidArgumentError(field, 'well-formed text without NUL', value);
  return value;
};

const checkText = (field: string, value: unknown, most: number): string => {
  const text = checkName(field, value);
  if (text.length > most) throw new InvalidArgumentError(field, `at most ${most} characters`, text);
  return text;
};

const checkTaskId = (field: string, value: unknown): string => {
  const id = checkName(field, value);
  if (Buffer.byteLength(id) > MAX_ID_BYTES)
    throw new InvalidArgumentError(field, `the id of a task, of at most ${MAX_ID_BYTES} bytes`, id);
  return id;
};

const checkState = (verb: BulkVerb, state: unknown): TaskState => {
  const states: readonly TaskState[] = STATES_OF_ACTION[verb];
  if (state === undefined && states.length === 1) return states[0]!;
  return checkOneOf('where.state', state, states);
};

const checkDeed = (client: Pick<ClientContext, 'sealer'>, deed: BulkDeed): StoredDeed => {
  if (deed.do === 'resolve') {
    const { do: verb, ...verdict } = deed;
    const as = checkOneOf('action.as', verdict.as, ['succeeded', 'failed']);
    return { do: verb, ...checkVerdict(client, { ...verdict, as }), as };
  }
  return deed.do === 'update' ? checkUpdate(deed) : { do: deed.do };
};

const checkUpdate = (deed: BulkDeed & { do: 'update' }): StoredDeed => {
  const { payloadPatch, priority, weight, notBefore, expiresAt } = deed;
  if ([payloadPatch, priority, weight, notBefore, expiresAt].every((field) => field === undefined))
    throw new InvalidArgumentError('action', 'payloadPatch, priority, weight, notBefore or expiresAt with update', {
      do: 'update',
    });
  if (payloadPatch !== undefined) refuseMoves({ priority, notBefore });
  if (weight !== undefined && !(Number.isFinite(weight) && weight >= 0))
    throw new InvalidArgumentError('action.weight', 'a number of at least 0', weight);
  return {
    do: 'update',
    ...(payloadPatch === undefined ? {} : { payloadPatch: checkPatch(payloadPatch) }),
    ...(priority === undefined ? {} : { priority: checkWhole('action.priority', priority, -32_768, 32_767) }),
    ...(weight === undefined ? {} : { weight }),
    ...(notBefore === undefined
      ? {}
      : { notBeforeMs: notBefore === null ? null : checkTime('action.notBefore', notBefore).getTime() }),
    ...(expiresAt === undefined
      ? {}
      : { expiresAtMs: expiresAt === null ? null : checkTime('action.expiresAt', expiresAt).getTime() }),
  };
};

/** Tasks that move would be met once more, and their new payloads be parsed and counted again. */
const refuseMoves = (moves: Pick<BulkDeed & { do: 'update' }, 'priority' | 'notBefore'>): void => {
  for (const [field, value] of Object.entries(moves))
    if (value !== undefined)
      throw new InvalidArgumentError(
        `action.${field}`,
        'nothing beside payloadPatch',
        value,
        'Start two actions: one for the payloads, and one for the rest.',
      );
};

const PATCH_BYTES_MAX = 65_536;

/** Returns the JSON text of a merge patch of payloads. */
const checkPatch = (patch: unknown): string => {
  const field = 'action.payloadPatch';
  let text: string | undefined;
  try {
    text = JSON.stringify(patch);
  } catch (error) {
    throw new InvalidArgumentError(field, 'a value that can be written as JSON', (error as Error).message);
  }
  const plain: unknown = text === undefined ? undefined : JSON.parse(text);
  if (!isJsonObject(plain) || Object.keys(plain).length === 0)
    throw new InvalidArgumentError(field, 'a JSON object with at least one member', patch);
  if (hasMember(plain, '__proto__'))
    throw new InvalidArgumentError(field, 'no member "__proto__", which not every program keeps', '__proto__');
  const bytes = Buffer.byteLength(text);
  if (bytes > PATCH_BYTES_MAX)
    throw new InvalidArgumentError(field, `at most ${PATCH_BYTES_MAX} bytes of JSON`, `${bytes} bytes`);
  if (depthOf(text) > MAX_JSON_DEPTH)
    throw new InvalidArgumentError(field, `at most ${MAX_JSON_DEPTH} levels of arrays and objects`, 'more');
  return storable(field, withoutTokens(text));
};

/**
 * Writes a bracket in another way, where a text would look like an encoded part: such a part stands
 * only for the whole patch.
 */
const withoutTokens = (json: string): string => json.replaceAll('[encoded:', String.raw`\u005bencoded:`);
