import { MAX_DEPTH } from './limits';
import { ApiProblem } from './problem';

/** A body as JSON. @throws ApiProblem: not UTF-8, not JSON, nested too deeply. */
export const parseBody = (bytes: Buffer): unknown => {
  const text = decode(bytes);
  if (text.trim() === '') return undefined;
  if (depthOf(text) > MAX_DEPTH)
    throw new ApiProblem('too-deep', `body: expected at most ${MAX_DEPTH} levels of nesting. Nothing was done.`);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ApiProblem('invalid', `body: expected JSON: ${(error as Error).message}`, {
      code: 'INVALID_JSON',
      errors: [{ field: 'body', message: (error as Error).message }],
    });
  }
};

const decode = (bytes: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ApiProblem('invalid', 'body: expected UTF-8', { code: 'INVALID_JSON', errors: [{ field: 'body', message: 'expected UTF-8' }] }); // prettier-ignore
  }
};

const QUOTE = 34;
const BACKSLASH = 92;
const OPENING: ReadonlySet<number> = new Set([91, 123]);
const CLOSING: ReadonlySet<number> = new Set([93, 125]);

/** The deepest nesting of arrays and objects, read before parsing; stops early where it is far too deep. Pure. */
export const depthOf = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  let inText = false;
  for (let i = 0; i < text.length && deepest <= MAX_DEPTH; i++) {
    const at = text.charCodeAt(i);
    if (inText) {
      if (at === BACKSLASH) i++;
      else if (at === QUOTE) inText = false;
    } else if (at === QUOTE) inText = true;
    else if (OPENING.has(at)) deepest = Math.max(deepest, ++depth);
    else if (CLOSING.has(at)) depth--;
  }
  return deepest;
};
