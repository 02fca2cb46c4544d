import type { Logger } from 'pino';
import { asDatabaseError } from '../../postgres/errors';
import { addOutcomes } from '../../postgres/outcomes/minute';
import type { Pool } from '../../postgres/pool';
import type { OutcomeMinutes } from './minutes';

/** How often a process adds its counts: the most of them that its death loses. */
const WRITE_EVERY_MS = 5_000;

/**
 * Adds the counts of this process to the store every few seconds, in one statement. They are
 * statistics: where it is unknown whether they were written, they are not written again.
 */
export class OutcomeWriter {
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly pool: Pool,
    private readonly minutes: OutcomeMinutes,
    private readonly log: Pick<Logger, 'debug'>,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.write(), WRITE_EVERY_MS);
    this.timer.unref();
  }

  /** Writes the rest. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.write();
  }

  /** Writes what was counted, one write at a time. Never throws. */
  write(): Promise<void> {
    this.writing = this.writing.then(() => this.writeNow());
    return this.writing;
  }

  private async writeNow(): Promise<void> {
    const rows = this.minutes.take();
    if (rows.length === 0) return;
    try {
      await addOutcomes(this.pool, rows);
    } catch (error) {
      if (asDatabaseError(error)?.outcome === 'none') this.minutes.giveBack(rows);
      this.log.debug({ err: error }, 'the counts of outcomes were not written');
    }
  }
}
