import { didYouMean } from '../suggest';
import { show } from '../text';
import { HOOK_NAMES, HOOK_TIMEOUT_MS } from './bounded';

const KNOWN: readonly string[] = [...HOOK_NAMES, 'timeoutMs'];
const { least, most } = HOOK_TIMEOUT_MS;

const NAMES = HOOK_NAMES.join(', ');
export const HOOKS_EXPECTED = `an object of functions (${NAMES}), and timeoutMs from ${least} to ${most}`;

/** Returns what is wrong with hooks, by field; null: nothing. */
export const hooksProblem = (value: unknown): { path: string; message: string } | null => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { path: '', message: `expected ${HOOKS_EXPECTED}, got ${show(value)}` };
  for (const [name, given] of Object.entries(value)) {
    if (!KNOWN.includes(name))
      return { path: name, message: `unknown hook${didYouMean(name, KNOWN) || `; known here: ${KNOWN.join(', ')}`}` };
    if (given === undefined) continue;
    if (name !== 'timeoutMs') {
      if (typeof given !== 'function') return { path: name, message: `expected a function, got ${show(given)}` };
    } else if (!Number.isSafeInteger(given) || (given as number) < least || (given as number) > most)
      return {
        path: name,
        message: `expected a whole number of milliseconds from ${least} to ${most}, got ${show(given)}`,
      };
  }
  return null;
};
