import { FIRST_VERSION, storedVersionOf, upcastJson, upcastOnly } from './payloadVersion';
import { checkedJson, UNCHECKED, uncheckedValue } from './uncheckedPayload';
import type { Contract } from './types';

/** A stored payload, decoded. */
export interface StoredPayload {
  /** JSON. */
  payload: string;
  /** Null: the first. */
  version: number | null;
}

/**
 * Returns the JSON text of a stored payload as today's code takes it, if it is of an older version
 * or was not checked. `target`: the one that it was submitted for; null: it is not compared.
 *
 * @throws Error that names the remedy, if there is no such payload.
 */
export const currentJson = (contract: Contract, { payload, version }: StoredPayload, target: string | null): string => {
  if (version === storedVersionOf(contract)) return payload;
  if (version === UNCHECKED) return checkedJson(contract, payload, target);
  return upcastJson(contract, payload, version ?? FIRST_VERSION);
};

/** A payload before it is changed, and whether a schema made it what it is. */
export interface GivenPayload {
  value: unknown;
  /** By this version's schema, through which it is to go again. */
  isParsed: boolean;
}

/**
 * Returns a stored payload for a change after which the schema is asked: it need not accept it as
 * it is. Throws if it cannot be read, or made today's.
 */
export const givenPayload = (contract: Contract, { payload, version }: StoredPayload): GivenPayload => {
  if (version === storedVersionOf(contract)) return { value: JSON.parse(payload), isParsed: true };
  if (version === UNCHECKED) return { value: uncheckedValue(payload), isParsed: false };
  return { value: upcastOnly(contract, payload, version ?? FIRST_VERSION), isParsed: false };
};
