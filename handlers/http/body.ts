import type { Readable } from 'node:stream';
import { MOST_VALUES, scan } from '../../workflows/planning/jsonText';
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
 * Gathers a body in one buffer that grows. Its sender chooses the pieces, and one of a byte, kept
 * as it came, takes a hundred.
 */
export class Gathered {
  length = 0;
  private buffer = Buffer.alloc(0);

  /** `most`: bytes that it will have at most; it takes no room for more. */
  constructor(private readonly most = Infinity) {}

  /** Returns how many bytes of memory it takes for so many more. */
  growthFor(bytes: number): number {
    return this.sizeFor(this.length + bytes) - this.buffer.length;
  }

  add(chunk: Uint8Array): this {
    const length = this.length + chunk.length;
    const size = this.sizeFor(length);
    if (size > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(size);
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    this.buffer.set(chunk, this.length);
    this.length = length;
    return this;
  }

  private sizeFor(length: number): number {
    const { length: size } = this.buffer;
    return length <= size ? size : Math.max(length, Math.min(2 * size, this.most));
  }

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }
}

/**
 * Reads at most `maxBytes` of a body, and drops the connection if there is more. Never throws,
 * since even a part of a body is evidence.
 */
export async function readBody(body: Readable, maxBytes: number): Promise<ReadBody> {
  const gathered = new Gathered();
  try {
    // Leaving the loop destroys the stream, so that nothing more is received.
    for await (const chunk of body as AsyncIterable<Buffer>) {
      gathered.add(chunk);
      if (gathered.length > maxBytes)
        return { bytes: gathered.bytes.subarray(0, maxBytes), problem: tooLong(maxBytes) };
    }
  } catch (error) {
    return {
      bytes: gathered.bytes,
      problem: `the answer broke off after ${gathered.length.toLocaleString('en-US')} bytes (${describeThrown(error)})`,
    };
  }
  return { bytes: gathered.bytes };
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

/** An answer has at most one JSON value or name per so many bytes that it may have. */
const ANSWER_BYTES_PER_VALUE = 8;

/** Returns the most JSON values and names of an answer of at most so many bytes. */
export const mostValues = (maxBytes: number): number =>
  Math.max(MOST_VALUES, Math.floor(maxBytes / ANSWER_BYTES_PER_VALUE));

/**
 * Parses JSON, with or without a byte order mark. For anything else, and for what would become too
 * much in memory, which is counted first, returns a message with the evidence.
 */
export function parseJson(bytes: Buffer, values = MOST_VALUES): { value: unknown } | { problem: string } {
  // How deep it is does not matter here: where results are stored, those too deep are left out.
  if (scan(bytes, { depth: Infinity, values }).values > values)
    return {
      problem: `expected at most ${values.toLocaleString('en-US')} JSON values and names, got more: ${quote(bytes)}`,
    };
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
  let rest = new Gathered();
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
      const line = rest.length === 0 ? chunk.subarray(from, end) : rest.add(chunk.subarray(from, end)).bytes;
      if (rest.length > 0) rest = new Gathered();
      from = end + 1;
      if (!isBlank(line)) yield parse(line);
    }
    if (from < chunk.length) rest.add(chunk.subarray(from));
  }
  const last = rest.bytes;
  if (!isBlank(last)) yield parse(last);
}

const isBlank = (line: Buffer): boolean => line.every((byte) => byte === 32 || byte === 9 || byte === 13);
