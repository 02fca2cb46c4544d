import type { IncomingMessage } from 'node:http';
import { Gathered } from '../../handlers/http/body';
import { show } from '../../handlers/text';
import { fieldAt, lossyNumber, lossyNumberMessage, MOST_VALUES, scan } from '../../workflows/planning/jsonText';
import { memoryOf } from '../api/bodies/memory';
import type { Part } from './memory';

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

/** How a body is read. */
export interface Reading {
  maxBytes: number;
  /** In these, which are read, no number may lose digits; in others, the sender's own, it may. */
  members: readonly string[];
  /** What it takes of the memory, which is left by the caller. */
  part: Part;
}

/**
 * Reads the body as a JSON object; throws `BodyTooLarge`, before more than that was kept, `NoRoom`
 * or `UnreadableBody`.
 */
export const readJson = async (request: IncomingMessage, reading: Reading): Promise<object> => {
  const { maxBytes, members, part } = reading;
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge(bytesOf(maxBytes));
  const bytes = await readBytes(request, reading);
  // No limit of depth, where counting would stop: results too deep are left out when stored.
  const scanned = scan(bytes, { depth: Infinity, values: MOST_VALUES });
  if (scanned.values > MOST_VALUES) throw new BodyTooLarge(`${MOST_VALUES} JSON values and names`);
  await part.parse(memoryOf(bytes.length, scanned));
  return parse(decode(bytes), members);
};

const parse = (text: string, members: readonly string[]): object => {
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

const readBytes = async (request: IncomingMessage, { maxBytes, part }: Reading): Promise<Buffer> => {
  let gathered = new Gathered(maxBytes);
  await new Promise<void>((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      try {
        if (gathered.length + chunk.length > maxBytes) throw new BodyTooLarge(bytesOf(maxBytes));
        part.arrive(gathered.growthFor(chunk.length));
        gathered.add(chunk);
      } catch (error) {
        refuse(error as Error);
      }
    };
    const refuse = (error: Error): void => {
      request.off('data', take);
      gathered = new Gathered(); // what it has is free, though the rest may still come
      reject(error);
    };
    const brokeOff = (): void => reject(new UnreadableBody('The body broke off. Nothing was settled.'));
    if (request.destroyed) return brokeOff(); // before anyone listened
    request.on('data', take);
    request.once('end', resolve);
    request.once('error', brokeOff);
    request.once('close', brokeOff);
  });
  return gathered.bytes;
};

const decode = (bytes: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableBody('Expected UTF-8. Nothing was settled.');
  }
};
