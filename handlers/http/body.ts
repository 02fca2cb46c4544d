import type { Readable } from 'node:stream';
import { describeThrown } from '../text';

/** Most characters that are quoted of an unusable answer. */
const EVIDENCE_CHARACTERS = 500;

/** A body as far as it could be read, and why not further. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly problem?: string;
}

const tooLong = (maxBytes: number): string =>
  `the answer is longer than maxResponseBytes (${maxBytes.toLocaleString('en-US')})`;

/**
 * Reads at most `maxBytes` of a body, and drops the connection if there is more. Never throws,
 * since even a part of a body is evidence.
 */
export async function readBody(body: Readable, maxBytes: number): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Leaving the loop destroys the stream, so that nothing more is received.
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), problem: tooLong(maxBytes) };
    }
  } catch (error) {
    return {
      bytes: Buffer.concat(chunks),
      problem: `the answer broke off after ${size.toLocaleString('en-US')} bytes (${describeThrown(error)})`,
    };
  }
  return { bytes: Buffer.concat(chunks) };
}

/**
 * Reads at most 16 KiB of an error's body as evidence, for at most 2 s: the status must not be lost
 * because of a slow body.
 */
export async function readEvidence(body: Readable): Promise<Buffer> {
  const timer = setTimeout(() => body.destroy(), 2_000);
  try {
    return (await readBody(body, 16_384)).bytes;
  } finally {
    clearTimeout(timer);
  }
}

/** Quotes the first 500 characters of a body, on one line. */
export const quote = (bytes: Buffer): string => {
  const text = bytes.toString('utf8', 0, EVIDENCE_CHARACTERS * 4);
  return text === ''
    ? 'an empty body'
    : `${JSON.stringify(text.slice(0, EVIDENCE_CHARACTERS))}${text.length > EVIDENCE_CHARACTERS ? '…' : ''}`;
};

/**
 * Parses JSON, with or without a byte order mark. For anything else, returns a message with the
 * evidence.
 */
export function parseJson(bytes: Buffer): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(bytes.toString().replace(/^\ufeff/, '')) as unknown };
  } catch (error) {
    return {
      problem: `the answer is not JSON (${error instanceof Error ? error.message.slice(0, 200) : 'unreadable'}): ${quote(bytes)}`,
    };
  }
}

/**
 * Yields the values of an NDJSON body line by line, with only one line in memory. Throws an Error
 * for a body above `maxBytes` or a line that is not JSON.
 */
export async function* readLines(body: Readable, maxBytes: number): AsyncGenerator<unknown> {
  let rest: Buffer[] = [];
  let size = 0;
  const parse = (line: Buffer): unknown => {
    const parsed = parseJson(line);
    if ('problem' in parsed) throw new Error(parsed.problem);
    return parsed.value;
  };
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(tooLong(maxBytes));
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...rest, chunk.subarray(from, end)]);
      rest = [];
      from = end + 1;
      if (!isBlank(line)) yield parse(line);
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  }
  const last = Buffer.concat(rest);
  if (!isBlank(last)) yield parse(last);
}

const isBlank = (line: Buffer): boolean => line.every((byte) => byte === 32 || byte === 9 || byte === 13);
