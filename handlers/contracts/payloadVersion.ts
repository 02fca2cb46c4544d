import { describeThrown, show } from '../text';
import { payloadBy } from './schema';
import { UNCHECKED } from './uncheckedPayload';
import type { Contract } from './types';

/** Payloads of earlier releases: which version one has, and what today's code makes of it. */

/** The version of a contract that names none. */
export const FIRST_VERSION = 1;
export const MAX_PAYLOAD_VERSION = 1_000_000;

/** A contract as far as versions go. One of another copy of this package may know of none. */
type Versioned = Pick<Contract, 'name' | 'schema' | 'upcast'> & { readonly payloadVersion?: number };

/** Returns the version of the payloads that a contract accepts today. */
export const versionOf = ({ payloadVersion = FIRST_VERSION }: Pick<Versioned, 'payloadVersion'>): number =>
  payloadVersion;

/** Returns the version as it is stored with a task; null: the first. */
export const storedVersionOf = (contract: Pick<Versioned, 'payloadVersion'>): number | null => {
  const version = versionOf(contract);
  return version === FIRST_VERSION ? null : version;
};

/** Returns what a view shows of a stored version: nothing if it is today's, or was not checked. */
export const shownVersion = (
  contract: Pick<Versioned, 'payloadVersion'> | undefined,
  stored: number | null,
): { payloadVersion?: number } => {
  const version = stored ?? FIRST_VERSION;
  return version === UNCHECKED || version === versionOf(contract ?? {}) ? {} : { payloadVersion: version };
};

/**
 * Returns the JSON text of a payload of an older version as today's code takes it: `upcast`, then
 * the schema.
 *
 * @throws Error that names the versions and the remedy, if there is no `upcast`, or it fails, or
 *   the schema refuses what it returns.
 */
export const upcastJson = (contract: Versioned, json: string, from: number): string =>
  upcasting(contract, from, (upcast) => {
    const payload = upcasted(upcast, json, from);
    const text = JSON.stringify(payloadBy(contract.schema, payload)) as string | undefined;
    if (text === undefined) throw new Error(`expected JSON, got ${show(payload)}`);
    return text;
  });

/** Returns what `upcast` makes of a payload, before the schema. Throws as `upcastJson` does. */
export const upcastOnly = (contract: Versioned, json: string, from: number): unknown =>
  upcasting(contract, from, (upcast) => upcasted(upcast, json, from));

type Upcast = NonNullable<Versioned['upcast']>;

const upcasted = (upcast: Upcast, json: string, from: number): unknown => {
  const payload: unknown = upcast(JSON.parse(json), from);
  if (!(payload instanceof Promise)) return payload;
  payload.catch(() => undefined); // its answer is not waited for, whatever it is
  throw new Error('it answered with a promise, but must be synchronous');
};

const upcasting = <T>(contract: Versioned, from: number, work: (upcast: Upcast) => T): T => {
  const to = versionOf(contract);
  const { name, upcast } = contract;
  if (upcast === undefined)
    throw new Error(
      `expected version ${to} of the payloads of handler "${name}", got ${from}, and it has no upcast. ` +
        'Give it upcast(payload, fromVersion), then redrive the task',
    );
  try {
    return work(upcast);
  } catch (error) {
    throw new Error(
      `the upcast of handler "${name}" from version ${from} to ${to} failed: ${describeThrown(error)}. ` +
        'Mend it, then redrive the task',
      { cause: error },
    );
  }
};
