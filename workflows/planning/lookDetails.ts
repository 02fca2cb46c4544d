/** Formats what a run that alternates between looks and waits shows in Temporal's Web UI. Pure. */

/** The result of one look. */
export interface LookAnswer {
  dueInMs: number | null;
  /** How many things the look did, by their name. */
  did: Readonly<Record<string, number>>;
  lastError?: string | undefined;
}

const MOST_CHARS = 500;

/** Sums up the looks of a run. */
export class LookStory {
  private looks = 0;
  private readonly sums = new Map<string, number>();
  private error: string | null = null;

  constructor(private readonly title: string) {}

  add({ did, lastError }: Omit<LookAnswer, 'dueInMs'>, nowMs: number): void {
    this.looks++;
    for (const [name, n] of Object.entries(did)) this.sums.set(name, (this.sums.get(name) ?? 0) + n);
    if (lastError !== undefined)
      this.error = `${timeOf(nowMs)}: ${lastError.slice(0, MOST_CHARS).replaceAll('\n', ' ')}`;
  }

  /** Returns the details as Markdown. `next` says what the run does now. */
  details(next: string, nowMs: number): string {
    const did = [...this.sums].map(([name, n]) => `${n} ${name}`);
    return [
      `**${this.title}**, as of ${timeOf(nowMs)}`,
      '',
      `- ${next}`,
      `- this run: ${[`${this.looks} look${this.looks === 1 ? '' : 's'}`, ...did].join(', ')}`,
      `- last error: ${this.error ?? 'none'}`,
    ].join('\n');
  }
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
