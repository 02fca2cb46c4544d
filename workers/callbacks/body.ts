import type { IncomingMessage } from 'node:http';
import { show } from '../../handlers/text';
import { scan } from '../api/bodies/scan';
import { MAX_DEPTH } from '../api/limits';
import { fieldAt, lossyNumber, lossyNumberMessage } from '../../workflows/planning/jsonText';

/**
 * JSON values and names of one completion, counted before it is parsed: some 200 bytes of memory
 * each. A result has about seven.
 */
export const MOST_VALUES = 1_000_000;

export class BodyTooLarge extends Error {
  constructor(most: string) {
    super(`Expected at most ${most}, got more. Nothing was settled.`);
  }
}
export class UnreadableBody extends Error {
  constructor(
    message: string,
    readonly field = 'body',
    /** Of docs/reference/errors.md; undefined: it has none. */
    readonly code?: 'LOSSY_NUMBER',
  ) {
    super(message);
  }
}

/**
 * Reads the body as a JSON object; throws `BodyTooLarge`, before more than that was kept, or
 * `UnreadableBody`. In `members`, which are read, no number may lose digits; in others, which
 * belong to the sender, it may.
 */
export const readJson = async (
  request: IncomingMessage,
  maxBytes: number,
  members: readonly string[],
): Promise<object> => {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge(bytesOf(maxBytes));
  const bytes = await readBytes(request, maxBytes);
  const scanned = scan(bytes, { depth: MAX_DEPTH, values: MOST_VALUES });
  if (scanned.values > MOST_VALUES) throw new BodyTooLarge(`${MOST_VALUES} JSON values and names`);
  const text = decode(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UnreadableBody(`Expected JSON, got ${show(text, 80)}: ${(error as Error).message}. Nothing was settled.`);
  }
  const lossy = lossyNumber(text, members);
  if (lossy !== null) {
    const field = fieldAt(lossy.path) || 'body';
    throw new UnreadableBody(
      `${field}: ${lossyNumberMessage(lossy.number)} Nothing was settled.`,
      field,
      'LOSSY_NUMBER',
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UnreadableBody(
      `Expected an object with results, or with a status, got ${show(value, 80)}. Nothing was settled.`,
    );
  return value;
};

const bytesOf = (maxBytes: number): string => `${maxBytes} bytes (callback.maxBytes)`;

const readBytes = async (request: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) reject(new BodyTooLarge(bytesOf(maxBytes)));
      else chunks.push(chunk);
    });
    request.once('end', resolve);
    request.once('error', () => reject(new UnreadableBody('The body broke off. Nothing was settled.')));
    request.once('close', () => reject(new UnreadableBody('The body broke off. Nothing was settled.')));
  });
  return Buffer.concat(chunks);
};

const decode = (bytes: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableBody('Expected UTF-8. Nothing was settled.');
  }
};
