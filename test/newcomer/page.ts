/**
 * The steps of a page that is done as it stands, such as docs/tutorial.md. A comment in front of a
 * block says what the block is:
 *
 *   name.ts                     the text of a file, to be written
 *   is name.ts                  the text of a file that is there already
 *   stays: name, until "text"   a command that goes on, in a terminal of this name
 *   name says                   lines that this terminal shows by now, or soon
 *
 * Blocks of commands need none; a block of text behind one is its output. `ends name` stops a
 * terminal. What is between `needs program` and `end` is left out where that is not installed.
 */
export type Step = { section: string; line: number; needs: string | null } & (
  | { kind: 'file' | 'is'; name: string; text: string }
  | { kind: 'run'; commands: string; output: string | null }
  | { kind: 'stays'; name: string; until: string; commands: string }
  | { kind: 'says'; name: string; text: string }
  | { kind: 'ends'; name: string }
);

const COMMENT = /^<!-- (.+) -->$/;
const STAYS = /^stays: (\w+), until "(.+)"$/;

/** Reads the steps of a page, in order. Throws where a block is none, or a comment has no block. */
export const readPage = (markdown: string): Step[] => new Reader(markdown.split('\n')).read();

class Reader {
  private readonly steps: Step[] = [];
  private at = 0;
  private section = '';
  private needs: string | null = null;
  /** The comment that the next block belongs to. */
  private said: string | null = null;
  /** The last commands, while only empty lines follow them. */
  private last: Extract<Step, { kind: 'run' }> | null = null;

  constructor(private readonly lines: readonly string[]) {}

  read(): Step[] {
    for (; this.at < this.lines.length; this.at++) {
      const line = this.lines[this.at]!;
      if (line.startsWith('```')) this.block(line.slice(3).trim());
      else if (COMMENT.test(line)) this.comment(COMMENT.exec(line)![1]!);
      else if (line !== '') this.prose(line);
    }
    if (this.needs !== null) throw this.wrong(`an end of "needs ${this.needs}"`, 'the end of the page');
    return this.steps;
  }

  private prose(line: string): void {
    if (this.said !== null) throw this.wrong(`a block behind the comment "${this.said}"`, line);
    if (line.startsWith('#')) this.section = line.replace(/^#+ /, '');
    this.last = null;
  }

  private comment(text: string): void {
    if (this.said !== null) throw this.wrong(`a block behind the comment "${this.said}"`, text);
    this.last = null;
    const [word, name] = text.split(' ');
    if (word === 'needs') this.needs = name!;
    else if (text === 'end') this.needs = null;
    else if (word === 'ends') this.steps.push({ ...this.place(), kind: 'ends', name: name! });
    else this.said = text;
  }

  private block(language: string): void {
    const from = this.at + 1;
    const to = this.lines.indexOf('```', from);
    if (to < 0) throw this.wrong('an end of the block', 'the end of the page');
    const text = this.lines.slice(from, to).join('\n');
    const said = this.said;
    this.said = null;
    if (language === 'text' && said === null) this.output(text);
    else this.steps.push(this.step(language, said, text));
    const step = this.steps.at(-1);
    this.last = language === 'sh' && step?.kind === 'run' ? step : null;
    this.at = to;
  }

  private output(text: string): void {
    if (this.last === null) throw this.wrong('commands in front of an output', text.split('\n')[0]!);
    this.last.output = text;
  }

  private step(language: string, said: string | null, text: string): Step {
    const place = this.place();
    if (language === 'sh') {
      if (said === null) return { ...place, kind: 'run', commands: text, output: null };
      const [, name, until] = STAYS.exec(said) ?? [];
      if (name === undefined) throw this.wrong('"stays: name, until "text"" in front of commands', said);
      return { ...place, kind: 'stays', name, until: until!, commands: text };
    }
    if (said === null) throw this.wrong(`a comment with a name in front of a block of ${language}`, 'none');
    if (said.endsWith(' says')) return { ...place, kind: 'says', name: said.slice(0, -' says'.length), text };
    const isThere = said.startsWith('is ');
    return { ...place, kind: isThere ? 'is' : 'file', name: isThere ? said.slice(3) : said, text: `${text}\n` };
  }

  private place(): { section: string; line: number; needs: string | null } {
    return { section: this.section, line: this.at + 1, needs: this.needs };
  }

  private wrong(expected: string, got: string): Error {
    return new Error(`Cannot read the page: line ${this.at + 1}: expected ${expected}, got ${JSON.stringify(got)}.`);
  }
}
