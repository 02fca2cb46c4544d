import type { Logger } from 'pino';
import type pg from 'pg';
import { Coalescer } from '../../postgres/sharing/coalescer';
import { listenForSubmitted, readSubmitted, SUBMITTED } from '../../postgres/grouping/submitting/submitted';
import type { Client, Pool } from '../../postgres/pool';
import { createPool, poolOptions, readUrl } from '../../postgres/pool';

interface Options {
  pool: Pool;
  log: Logger;
  ring: (targetIds: readonly number[]) => Promise<void>;
  /** Works off what has ended and was waited for. */
  release: () => Promise<void>;
}

/**
 * Hears of tasks that `submit` of the database has stored, at their commit, and rings their targets
 * at once, or releases them: who submits by SQL cannot. Has a connection for itself; behind a
 * pooler, which lends none out for long, it hears nothing, and the sweeper finds the targets.
 */
export class SubmitListener {
  private readonly rung: Coalescer<number>;
  private readonly released: Coalescer<true>;
  private readonly schema: string;
  /** What it listens by; null: it does not listen. */
  private readonly makePool: (() => Pool) | null;
  private listening: { client: Client; pool: Pool } | null = null;

  constructor(private readonly options: Options) {
    const ofPool = poolOptions(options.pool);
    const { databaseUrl, schema = 'muster' } = ofPool;
    const mayListen = databaseUrl !== '' && !readUrl(databaseUrl).isPooler;
    this.schema = schema;
    this.makePool = mayListen ? () => createPool({ ...ofPool, max: 1, applicationName: 'muster submits' }) : null;
    this.rung = new Coalescer((ids) => options.ring(ids));
    this.released = new Coalescer(() => options.release());
  }

  /** Listens if it does not, or does so no more. Rejects where that is not possible now. */
  async listen(): Promise<void> {
    if (this.listening !== null || this.makePool === null) return;
    const pool = this.makePool();
    const client = await pool.connect().catch(async (error: unknown) => {
      await pool.end();
      throw error;
    });
    const listening = { client, pool };
    // By then it may listen by another session, or be closed.
    const end = (): Promise<void> => (this.listening === listening ? this.close() : Promise.resolve());
    client.on('notification', (message) => this.hear(message));
    client.once('end', () => void end());
    this.listening = listening;
    await listenForSubmitted(client).catch(async (error: unknown) => {
      await end();
      throw error;
    });
  }

  /** Listens no more: another worker does. */
  async close(): Promise<void> {
    const { listening } = this;
    this.listening = null;
    if (listening === null) return;
    listening.client.release(true);
    await listening.pool.end();
  }

  private hear({ channel, payload = '' }: pg.Notification): void {
    const told = channel === SUBMITTED ? readSubmitted(payload, this.schema) : null;
    if (told === null) return;
    const { targetId, hasEnded } = told;
    // A held task is in no queue: its release rings.
    (hasEnded ? this.released.add([true]) : this.rung.add([targetId])).catch((error: unknown) =>
      this.options.log.warn({ err: error, targetId }, 'a submitted task was not rung; the sweeper will do it'),
    );
  }
}
