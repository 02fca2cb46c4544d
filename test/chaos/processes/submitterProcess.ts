import { setTimeout as sleep } from 'node:timers/promises';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import type { Handler } from '../../../handlers';
import { createClient } from '../../../client';
import type { Client } from '../../../client';
import { createPool } from '../../../postgres/pool';
import { Post } from './post';
import { shortRuns } from '../shortRuns';
import { tapPool } from '../judge/tap';

/**
 * What is the same of every scenario's submitter: its orders, a client that can be killed at the
 * ring, retries.
 */
export interface SubmitterSettings {
  name: string;
  databaseUrl: string;
  address: string;
  prefix: string;
  runDir: string;
  /** First number; a restarted one begins with what nobody confirmed. */
  from: number;
  /** The scenario's own. */
  settings?: unknown;
}
export const settings = JSON.parse(process.argv[2]!) as SubmitterSettings;

/** What the harness asks for: so many numbers, so fast. */
export const pace = { rate: 0, until: 0 };
const post = new Post(settings.runDir, (order) => {
  if ('rate' in order) Object.assign(pace, { rate: order.rate, until: order.until });
});

/** In hand: `live` of them are written and not yet rung for. */
export const held = { live: 0 };

/** A client whose submits may be killed between their commit and the ring, at `ringStatement`. */
export const openClient = (handlers: readonly Handler[], ringStatement: string): Client => {
  const { name, databaseUrl, address, prefix } = settings;
  const pool = tapPool(createPool({ databaseUrl, max: 5, applicationName: `chaos submitter ${name}` }), {
    before: async (statement) => {
      if (statement.name === ringStatement && held.live > 0 && post.isArmed('client-commit-ring'))
        await post.stay({ point: 'client-commit-ring', live: held.live });
    },
  });
  const connection = Connection.lazy({ address });
  const temporal = { client: new TemporalClient({ connection, namespace: 'default', interceptors: shortRuns }) };
  return createClient({ databaseUrl, handlers, prefix, pool, temporal });
};

/** The database or its session is away now and then; a repeat of the same ids is the same work. */
export const untilDone = async (work: () => Promise<unknown>): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt === 20) throw error;
      await sleep(200);
    }
  }
};

export const runSubmitter = (main: () => Promise<void>): void =>
  void main().catch((error: unknown) => {
    process.stderr.write(
      `submitter ${settings.name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  });
