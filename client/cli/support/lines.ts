/**
 * One line of a file, numbered from 1. `text` is null for a line above the limit, whose text was
 * dropped.
 */
export interface Line {
  number: number;
  text: string | null;
}

const NEWLINE = 0x0a;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a line that is not UTF-8, whose real text must not be guessed. */
export const INVALID_UTF8 = '\ufffd\ufffd not UTF-8';

/**
 * Yields the lines of a text that arrives in chunks, in one group per chunk and in bounded memory:
 * a line above `maxBytes` is dropped while it is read. Empty lines are counted but not yielded. A
 * byte order mark and white space at both ends of a line are removed.
 */
export async function* lineGroups(
  input: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<{ lines: Line[]; bytes: number }> {
  const state = new LineSplitter(maxBytes);
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    const lines = state.take(chunk);
    if (lines.length > 0) yield { lines, bytes };
  }
  const rest = state.end();
  if (rest.length > 0) yield { lines: rest, bytes };
}

class LineSplitter {
  private number = 0;
  private parts: Buffer[] = [];
  private size = 0;

  constructor(private readonly maxBytes: number) {}

  take(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.keep(chunk.subarray(from, at));
      this.finish(lines);
      from = at + 1;
    }
    if (from < chunk.length) this.keep(chunk.subarray(from));
    return lines;
  }

  end(): Line[] {
    const lines: Line[] = [];
    if (this.size > 0) this.finish(lines);
    return lines;
  }

  private keep(part: Buffer): void {
    this.size += part.length;
    if (this.size > this.maxBytes) this.parts = [];
    else this.parts.push(part);
  }

  private finish(lines: Line[]): void {
    this.number++;
    const { size, parts } = this;
    this.size = 0;
    this.parts = [];
    if (size > this.maxBytes) lines.push({ number: this.number, text: null });
    else if (size > 0) this.push(lines, decode(parts.length === 1 ? parts[0]! : Buffer.concat(parts)));
  }

  private push(lines: Line[], text: string): void {
    const trimmed = (this.number === 1 ? text.replace(/^\ufeff/, '') : text).trim();
    if (trimmed !== '') lines.push({ number: this.number, text: trimmed });
  }
}

const decode = (bytes: Buffer): string => {
  try {
    return decoder.decode(bytes);
  } catch {
    return INVALID_UTF8;
  }
};
