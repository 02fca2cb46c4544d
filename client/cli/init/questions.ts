import { createInterface } from 'node:readline/promises';
import type { Surroundings } from '../support/surroundings';

/** Asks for what the options left open, on a terminal; elsewhere the defaults are taken. */
export class Questions {
  private readonly terminal: ReturnType<typeof createInterface> | null;

  constructor({ stdin, stderr }: Surroundings, asks: boolean) {
    const input = stdin as NodeJS.ReadStream;
    const isTerminal = asks && input.isTTY === true && stderr.isTTY === true;
    this.terminal = isTerminal ? createInterface({ input, output: stderr }) : null;
  }

  /** Returns the option if it was given, otherwise the answer; an empty one is the default. */
  async ask(question: string, given: string | undefined, fallback: string): Promise<string> {
    if (given !== undefined || this.terminal === null) return given ?? fallback;
    const answer = await this.terminal.question(`${question} (${fallback}): `);
    return answer.trim() === '' ? fallback : answer.trim();
  }

  close(): void {
    this.terminal?.close();
  }
}
