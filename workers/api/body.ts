import type { Scanned } from '../../workflows/planning/jsonText';
import { fieldAt, lossyNumber, lossyNumberMessage, scan } from '../../workflows/planning/jsonText';
import { mostValues } from './bodies/memory';
import { MAX_DEPTH } from './limits';
import { ApiProblem } from './problem';

const [NO_JSON, LOSSY] = ['INVALID_JSON', 'LOSSY_NUMBER'] as const;
/** Codes of what `parseBody` refuses. */
export const BODY_CODES = [NO_JSON, LOSSY] as const;

/** Measures a body before anything of it is built. @throws ApiProblem: too deep, too many values */
export const measureBody = (bytes: Buffer, maxBodyBytes: number): Scanned => {
  const most = { depth: MAX_DEPTH, values: mostValues(maxBodyBytes) };
  const scanned = scan(bytes, most);
  if (scanned.depth > most.depth)
    throw new ApiProblem('too-deep', `body: expected at most ${MAX_DEPTH} levels of nesting. Nothing was done.`);
  if (scanned.values > most.values)
    throw new ApiProblem(
      'too-large',
      `body: expected at most ${most.values} JSON values and names, got more. Nothing was done; send it in parts.`,
      { code: 'TOO_MANY_VALUES', errors: [{ field: 'body', message: `expected at most ${most.values} JSON values` }] },
    );
  return scanned;
};

/**
 * Parses a body as JSON. @throws ApiProblem: not UTF-8, not JSON, with a number that would lose
 * digits.
 */
export const parseBody = (bytes: Buffer): unknown => {
  const text = decode(bytes);
  if (text === '') return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    refuseLoss(text);
    return value;
  } catch (error) {
    if (error instanceof ApiProblem) throw error;
    throw new ApiProblem('invalid', `body: expected JSON: ${(error as Error).message}`, {
      code: NO_JSON,
      errors: [{ field: 'body', message: (error as Error).message }],
    });
  }
};

const refuseLoss = (text: string): void => {
  const lossy = lossyNumber(text);
  if (lossy === null) return;
  const field = fieldAt(lossy.path) || 'body';
  const message = lossyNumberMessage(lossy.number);
  throw new ApiProblem('invalid', `${field}: ${message}`, { code: LOSSY, errors: [{ field, message }] });
};

const decode = (bytes: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ApiProblem('invalid', 'body: expected UTF-8', {
      code: NO_JSON,
      errors: [{ field: 'body', message: 'expected UTF-8' }],
    });
  }
};
