import { pauseHandler, resumeHandler } from '../../postgres/grouping/handler';
import { wakeResumedLeaders } from '../../postgres/grouping/leaderWakes';
import type { Pool } from '../../postgres/pool';
import { flushTargets, setTargetOverrides, setTargetPaused, targetIds } from '../../postgres/grouping/target';
import type { Client } from '../../client';
import { wakeLeaderWorkflows } from '../../workflows/wake';
import { Requests } from '../../workflows/temporal/requests';

const LEASE_MS = 15_000;

/**
 * What the client's operations do, from their statements: the change commits, then the leaders are
 * told.
 */
export const operate = (pool: Pool, client: Client) => {
  const wakeResumed = async (handler: string, key: string | null): Promise<void> => {
    const leaders = await wakeResumedLeaders(pool, handler, key, LEASE_MS);
    const failure = await wakeLeaderWorkflows(new Requests(await client.temporal()), client.prefix, leaders);
    if (failure !== null) throw failure;
  };
  return {
    /** Returns how many tasks it made due. */
    flush: async (handler: string, key: string | null = null): Promise<number> => {
      const flushed = await flushTargets(pool, handler, key);
      await client.ring(flushed.map((target) => target.id));
      return flushed.reduce((sum, target) => sum + target.tasks, 0);
    },
    pauseTarget: async (handler: string, key: string): Promise<void> => {
      await setTargetPaused(pool, handler, key, 'paused by hand');
    },
    resumeTarget: async (handler: string, key: string): Promise<void> => {
      const id = await setTargetPaused(pool, handler, key, null);
      await client.ring([id!]);
      await wakeResumed(handler, key);
    },
    pause: async (handler: string): Promise<void> => {
      await pauseHandler(pool, handler, 'a test paused it');
    },
    resume: async (handler: string): Promise<void> => {
      await resumeHandler(pool, handler);
      await client.ring(await targetIds(pool, handler));
      await wakeResumed(handler, null);
    },
    override: async (handler: string, key: string, overrides: Record<string, number>): Promise<void> => {
      const [id] = await targetIds(pool, handler, key);
      await setTargetOverrides(pool, id!, overrides);
      await client.ring([id!]);
    },
  };
};
