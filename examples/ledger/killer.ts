import type { ExampleProcess } from '../support/child';

/** A process that is killed and started again. */
export interface Victim {
  name: string;
  current: ExampleProcess;
  start: () => Promise<ExampleProcess>;
}

/**
 * Kills one victim after the other by SIGKILL, the next `everyMs` after the last one is ready
 * again.
 */
export class Killer {
  kills = 0;
  private stopped = false;
  private running: Promise<void> = Promise.resolve();
  private wake: () => void = () => undefined;

  constructor(
    private readonly victims: readonly Victim[],
    private readonly everyMs: number,
    private readonly say: (line: string) => void,
  ) {}

  start(): void {
    this.running = this.run();
  }

  /** Every victim is up after this. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    for (let next = 0; ; next++) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, this.everyMs);
      });
      if (this.stopped) return;
      const victim = this.victims[next % this.victims.length]!;
      await victim.current.kill();
      this.kills++;
      victim.current = await victim.start();
      this.say(`killed ${victim.name}, and started it again`);
    }
  }
}
