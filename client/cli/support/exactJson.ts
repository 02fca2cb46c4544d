import type { ErrorCode } from '../../../workflows/planning/errorCodes';
import { fieldAt, lossyNumber, lossyNumberMessage } from '../../../workflows/planning/jsonText';
import { MusterError } from '../../errors';

/**
 * Parses JSON from a user. `where` names it in errors, which get this `code`.
 *
 * @throws MusterError if the text is not JSON, or has a number that would lose digits.
 */
export const exactJson = (text: string, where: string, code: ErrorCode): unknown => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const shown = JSON.stringify(text.slice(0, 80));
    throw new MusterError(code, `${where}: expected JSON, got ${shown}: ${(error as Error).message}`);
  }
  const lossy = lossyNumber(text);
  if (lossy === null) return value;
  const named = [where, fieldAt(lossy.path)].filter((part) => part !== '').join(', ');
  throw new MusterError(code, `${named}: ${lossyNumberMessage(lossy.number)}`);
};
