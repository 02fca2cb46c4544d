import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Edit, Receipt } from './edits';

/** A batch that has ended: applied, in the order of the file, or refused. */
export interface Entry {
  key: string;
  reference: string;
  service: string;
  status: 'committed' | 'invalid';
  edits: Edit[];
  receipts: Receipt[];
}

/**
 * An append-only file of what has ended, one JSON line each. What was appended has reached the
 * disk; a kill loses none of it.
 */
export class Journal {
  private constructor(private readonly file: number) {}

  /** Opens or creates it and reads what is there; a line that a kill cut off is cut away. */
  static open(path: string): { journal: Journal; entries: Entry[] } {
    const file = openSync(path, 'a+');
    const text = readFileSync(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) ftruncateSync(file, Buffer.byteLength(whole));
    const lines = whole.split('\n').filter((line) => line !== '');
    return { journal: new Journal(file), entries: lines.map((line) => JSON.parse(line) as Entry) };
  }

  /** One write and one fsync for all of them. */
  append(entries: readonly Entry[]): void {
    const bytes = Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    for (let at = 0; at < bytes.length;) at += writeSync(this.file, bytes, at);
    fsyncSync(this.file);
  }

  close(): void {
    closeSync(this.file);
  }
}
