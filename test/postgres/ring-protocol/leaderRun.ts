import type { DispatchAnswer, LeaderInput, TurnAnswer, TurnInput } from '../../../workflows/messages';
import type { Clock } from './tools/clock';

/**
 * What a leader's workflow asks of the world; the product's own claim and dispatch stand behind
 * it.
 */
export interface Operations {
  clock: Clock;
  /** A local activity: answers once it has been done, however often it had to run. */
  takeTurn(input: TurnInput): Promise<TurnAnswer>;
  submit(dispatch: {
    leaderId: number;
    handler: string;
    epoch: number;
    no: number;
    slots: number;
  }): Promise<DispatchAnswer>;
  /** Something is under way from now on, until the answer is called: the world is not at rest. */
  busy(): () => void;
  turning(leaderId: number): void;
  turned(leaderId: number, worked: boolean): void;
  /** At once: a wake that comes after finds no run. */
  ended(run: LeaderRun, end: End): void;
}

/** `again`: it continued as new. `ended`: it closed. */
export type End = 'again' | 'ended' | 'terminated';

/**
 * The decisions of `workflows/leader.ts`, step by step; `heedsWakes` false leaves out its look at
 * wakes that came while it stepped down.
 */
export interface Variant {
  heedsWakes?: boolean;
  turnsPerRun?: number;
}

/**
 * One run of a leader workflow in this process, as `workflows/leader.ts` has it, without Temporal:
 * the test decides when it dies, and time is the store's. (The workflow itself runs on the real
 * servers in test/workflows and test/chaos.)
 */
export class LeaderRun {
  private looks = 1; // the signal that came with the start
  private looked = 0;
  private turn = 0;
  private ended = 0;
  private released = false;
  private readonly live = new Set<number>();
  private notify: () => void = () => undefined;
  private dead = false;
  private rest: () => void = () => undefined;

  constructor(
    readonly input: LeaderInput,
    private readonly runId: string,
    private readonly startedAtMs: number,
    private readonly world: Operations,
    private readonly variant: Variant = {},
  ) {}

  look(): void {
    this.looks++;
    this.notify();
  }
  /**
   * An operator terminates the run: it does nothing any more, what it started goes on without it.
   */
  terminate(): void {
    this.dead = true;
    this.notify();
  }

  async lead(): Promise<void> {
    this.rest = this.world.busy();
    try {
      await this.loop();
    } finally {
      this.rest();
    }
  }

  private end(end: End): void {
    this.world.ended(this, end);
  }

  private async loop(): Promise<void> {
    if (this.input.dueInMs > 0) {
      this.looked = 1;
      await this.wait(this.input.dueInMs, () => this.woken);
    }
    for (;;) {
      if (this.dead) return this.end('terminated');
      const draining = this.turn >= (this.variant.turnsPerRun ?? 500);
      if (draining && this.live.size === 0) return this.end('again');
      this.looked = this.looks;
      const { ended } = this;
      const answer = await this.takeTurn(!draining);
      if (this.dead) return this.end('terminated');
      if (answer.deposed) return this.end('ended');
      if (answer.again && !draining) continue;
      const heeds = this.variant.heedsWakes !== false;
      const woken = heeds && this.woken;
      if (answer.next === 'idle' && !woken && this.live.size === 0 && !answer.again) return this.end('ended');
      if (woken) continue;
      this.released = false;
      const changed = (): boolean => (heeds && this.woken) || this.ended > ended;
      await this.wait(answer.next === 'waiting' ? answer.dueInMs : null, changed);
      if (this.released && this.live.size === 0 && !(heeds && this.woken)) return this.end('ended');
    }
  }

  private get woken(): boolean {
    return this.looks > this.looked;
  }

  private async takeTurn(mayClaim: boolean): Promise<TurnAnswer> {
    const { leaderId, handler } = this.input;
    this.world.turning(leaderId);
    const turn = ++this.turn;
    const run = { runId: this.runId, runStartedAtMs: this.startedAtMs };
    const answer = await this.world.takeTurn({ ...run, leaderId, turn, live: [...this.live], mayClaim });
    this.world.turned(leaderId, answer.dispatch !== null);
    if (answer.dispatch !== null && !this.dead && !answer.deposed) {
      const { no, slots } = answer.dispatch;
      this.live.add(no);
      void this.world
        .submit({ leaderId, handler, epoch: answer.epoch, no, slots })
        .then(({ released }) => {
          if (released && turn === this.turn && !(this.variant.heedsWakes !== false && this.woken))
            this.released = true;
        })
        .catch(() => undefined) // it died: the next turn adopts its batches
        .finally(() => {
          this.live.delete(no);
          this.ended++;
          this.notify();
        });
    }
    return answer;
  }

  /**
   * Until something changed, or so many ms have passed. Asleep: the world may be at rest meanwhile.
   */
  private async wait(ms: number | null, changed: () => boolean): Promise<void> {
    let over = false;
    const cancel = ms === null ? null : this.world.clock.setTimer(ms, () => ((over = true), this.notify()));
    while (!over && !changed() && !this.dead) {
      this.rest();
      await new Promise<void>((resolve) => {
        this.notify = () => {
          this.notify = () => undefined;
          this.rest = this.world.busy(); // at once, not when the promise is continued
          resolve();
        };
      });
    }
    cancel?.();
  }
}
