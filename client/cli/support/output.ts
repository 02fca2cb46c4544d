import { once } from 'node:events';
import Table from 'cli-table3';
import { formatDuration } from '../../../workflows/planning/duration';
import type { Progress } from './progress';
import { progressBar } from './progress';
import type { Surroundings } from './surroundings';

/**
 * Writes what a command prints. stdout carries only the answer: with `--json` exactly one JSON
 * document, or NDJSON, otherwise text for people. Everything else goes to stderr.
 */
export class Output {
  constructor(
    readonly json: boolean,
    private readonly to: Pick<Surroundings, 'stdout' | 'stderr'>,
  ) {}

  /** Writes the answer: as one JSON document with `--json`, otherwise as text. */
  answer(document: unknown, text: () => string): void {
    this.line(this.json ? JSON.stringify(document) : text());
  }

  /**
   * Writes one line of NDJSON, and waits while the reader is slow, so that memory stays bounded.
   */
  async stream(document: unknown): Promise<void> {
    await this.piece(`${JSON.stringify(document)}\n`);
  }

  /** Writes a piece of the answer as it is, and waits while the reader is slow. */
  async piece(text: string): Promise<void> {
    const { stdout } = this.to;
    if (!stdout.write(text)) await once(stdout, 'drain');
  }

  /** Writes a note for people to stderr, where no program reads it. */
  note(text: string): void {
    this.to.stderr.write(`${text}\n`);
  }

  /** Draws a progress bar, if stderr is a terminal. */
  progress(what: string, total: number, unit: string): Progress {
    return progressBar(this.to.stderr, what, total, unit);
  }

  private line(text: string): void {
    this.to.stdout.write(text.endsWith('\n') || text === '' ? text : `${text}\n`);
  }
}

/** Returns a table in plain characters, with control characters in cells escaped. */
export const table = (
  head: readonly string[],
  rows: readonly (readonly (string | number | null | undefined)[])[],
): string => {
  const made = new Table({ head: [...head], style: { head: [], border: [], compact: true } });
  for (const row of rows) made.push(row.map((cell) => printable(cell == null ? '-' : String(cell))));
  return made.toString();
};

/** Returns names and values, one pair per line. Fields without a value are left out. */
export const fields = (entries: readonly (readonly [name: string, value: unknown])[]): string => {
  const shown = entries.filter(([, value]) => value !== undefined && value !== null && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${printable(asText(value))}`).join('\n');
};

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);

/**
 * Escapes control characters: ids and targets come from outside, and must not control the terminal.
 */
export const printable = (text: string): string =>
  text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const ERROR_SHOWN = 80;

/** Cuts an error to what fits into a table. */
export const shortened = (error: string): string =>
  error.length > ERROR_SHOWN ? `${error.slice(0, ERROR_SHOWN)}...` : error;

export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;

/**
 * Formats a duration in milliseconds as everywhere in Muster; negative for a time that has passed.
 */
export const duration = (ms: number): string => (ms < 0 ? `-${formatDuration(-ms)}` : formatDuration(ms));
