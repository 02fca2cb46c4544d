import { FIRST_VERSION, storedVersionOf, upcastJson } from './payloadVersion';
import { checkedJson, UNCHECKED } from './uncheckedPayload';
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
