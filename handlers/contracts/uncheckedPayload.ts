import { depthOf, fieldAt, lossyNumber, lossyNumberMessage, MAX_JSON_DEPTH } from '../../workflows/planning/jsonText';
import { describeThrown, show } from '../text';
import { payloadBy } from './schema';
import type { Contract } from './types';

/** Payloads that were stored by `submit` of the database, which has not the handler's code. */

/** The version that is stored with them. */
export const UNCHECKED = 0;

/** Refuses numbers that JavaScript would change. */
const refuseLossy = (json: string): void => {
  const lossy = lossyNumber(json);
  if (lossy !== null) throw new Error(`${fieldAt(['payload', ...lossy.path])}: ${lossyNumberMessage(lossy.number)}`);
};

/** Returns such a payload before the schema. Throws if it cannot be read without loss. */
export const uncheckedValue = (json: string): unknown => {
  refuseLossy(json);
  return JSON.parse(json);
};

/**
 * Returns the JSON text of such a payload as the handler takes it: by its schema. `target`: the one
 * that it was submitted for; null: it is not compared.
 *
 * @throws Error that names the field, if the handler refuses it or computes another target.
 */
export const checkedJson = (
  contract: Pick<Contract, 'name' | 'schema' | 'target'>,
  json: string,
  target: string | null,
): string => {
  try {
    refuseLossy(json);
    const text = JSON.stringify(payloadBy(contract.schema, JSON.parse(json))) as string | undefined;
    if (text === undefined) throw new Error('payload: expected JSON, got nothing');
    if (depthOf(text) > MAX_JSON_DEPTH) throw new Error(`payload: expected at most ${MAX_JSON_DEPTH} levels`);
    const computed = target === null ? target : contract.target(JSON.parse(text));
    if (computed !== target)
      throw new Error(`target: expected ${show(computed)}, as it is computed, got ${show(target)}`);
    return text;
  } catch (error) {
    throw new Error(
      `handler "${contract.name}" refuses it: ${describeThrown(error)}. It was submitted by SQL, which cannot check ` +
        'this: submit the right one under another id',
      { cause: error },
    );
  }
};
