import type { Statement } from '../../../chaos/judge/tap';

const MOST = 20_000;
const MOST_OF_VALUES = 400;

/** Keeps the last statements of a world in their order, to explain a finding by. */
export class Recorder {
  private readonly lines: string[] = [];

  note(party: string, when: string, { name, values, rows }: Statement): void {
    const given = JSON.stringify(values).slice(0, MOST_OF_VALUES);
    this.say(`${party} ${when} ${name} ${given}${when === 'after' ? ` -> ${rows}` : ''}`);
  }

  say(line: string): void {
    this.lines.push(`${performance.now().toFixed(1)} ${line}`);
    if (this.lines.length > 2 * MOST) this.lines.splice(0, MOST);
  }

  text(): string {
    return this.lines.slice(-MOST).join('\n');
  }
}
