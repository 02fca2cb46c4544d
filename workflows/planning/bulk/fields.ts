import type { BulkVerb } from './actions';

/** The fields of bulk actions, as they are stored. */

/** A bulk action as it is stored: what it is about, and what it does. */
export interface StoredFields {
  filter: Readonly<Record<string, unknown>>;
  action: Readonly<Record<string, unknown>>;
}

/**
 * Those that programs from before migration 000027 know. They ignore all others, and would change
 * more tasks than are meant, or none: what has others is hidden from them.
 */
const FIRST_FILTER: readonly string[] = [
  ...['state', 'target', 'tag', 'error', 'errorCode', 'errorGroup'],
  ...['since', 'until', 'limit'],
];
const FIRST_ACTIONS: Readonly<Record<BulkVerb, readonly string[]>> = {
  cancel: ['do'],
  redrive: ['do'],
  resolve: ['do', 'as', 'result', 'error'],
  update: ['do', 'priority', 'weight', 'notBeforeMs'],
};

/** Those that this program knows: it leaves alone what has others. */
export const KNOWN_FILTER: readonly string[] = [...FIRST_FILTER, 'id'];
export const KNOWN_ACTIONS: Readonly<Record<BulkVerb, readonly string[]>> = {
  ...FIRST_ACTIONS,
  update: [...FIRST_ACTIONS.update, 'payloadPatch', 'payloadVersion', 'expiresAtMs'],
};

/** Says whether programs from before migration 000027 would make it wrongly. */
export const isHiddenFromOlder = ({ filter, action }: StoredFields): boolean =>
  otherOf(filter, FIRST_FILTER) !== undefined || otherOf(action, FIRST_ACTIONS[verbOf(action)]) !== undefined;

/** Returns what of it this program does not know; null: it knows all. */
export const unknownPart = ({ filter, action }: StoredFields): string | null => {
  const known: readonly string[] | undefined = KNOWN_ACTIONS[verbOf(action)];
  if (known === undefined) return `the action ${String(action['do'])}`;
  const ofAction = otherOf(action, known);
  if (ofAction !== undefined) return `action.${ofAction}`;
  const ofFilter = otherOf(filter, KNOWN_FILTER);
  return ofFilter === undefined ? null : `where.${ofFilter}`;
};

const verbOf = (action: StoredFields['action']): BulkVerb => action['do'] as BulkVerb;

const otherOf = (value: StoredFields['filter'], known: readonly string[]): string | undefined =>
  Object.keys(value).find((field) => value[field] !== undefined && !known.includes(field));
