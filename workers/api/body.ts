import { depthOf, fieldAt, lossyNumber, lossyNumberMessage } from '../../workflows/planning/jsonText';
import { MAX_DEPTH } from './limits';
import { ApiProblem } from './problem';

/**
 * Parses a body as JSON. @throws ApiProblem: not UTF-8, not JSON, nested too deeply, with a number
 * that would lose digits.
 */
export const parseBody = (bytes: Buffer): unknown => {
  const text = decode(bytes);
  if (text.trim() === '') return undefined;
  if (depthOf(text, MAX_DEPTH) > MAX_DEPTH)
    throw new ApiProblem('too-deep', `body: expected at most ${MAX_DEPTH} levels of nesting. Nothing was done.`);
  try {
    const value = JSON.parse(text) as unknown;
    refuseLoss(text);
    return value;
  } catch (error) {
    if (error instanceof ApiProblem) throw error;
    throw new ApiProblem('invalid', `body: expected JSON: ${(error as Error).message}`, {
      code: 'INVALID_JSON',
      errors: [{ field: 'body', message: (error as Error).message }],
    });
  }
};

const refuseLoss = (text: string): void => {
  const lossy = lossyNumber(text);
  if (lossy === null) return;
  const field = fieldAt(lossy.path) || 'body';
  const message = lossyNumberMessage(lossy.number);
  throw new ApiProblem('invalid', `${field}: ${message}`, { code: 'LOSSY_NUMBER', errors: [{ field, message }] });
};

const decode = (bytes: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ApiProblem('invalid', 'body: expected UTF-8', {
      code: 'INVALID_JSON',
      errors: [{ field: 'body', message: 'expected UTF-8' }],
    });
  }
};
