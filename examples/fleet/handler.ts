import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler, LaterError, neverSent } from '../../handlers';

export const HANDLER = 'fleet';

export interface Reading {
  sensor: string;
}

/** What the gate is told of a write. */
export interface Write {
  partition: string;
  epoch: number;
  /** Who writes: the label of the process. */
  node: string;
  key: string;
  tasks: string[];
}

/**
 * Readings of sensors, each sensor's written by the one node that holds its partition, under the
 * epoch of its lease. It heeds no signal: a node that is stopped in the middle of a call and wakes
 * later sends what it was about to send. What is safe then is so by the epoch alone.
 */
export const fleetHandler = (options: { url: string; partitions: number; node: string; workMs: number }) =>
  defineHandler<Reading>({
    name: HANDLER,
    target: ({ sensor }) => sensor,
    limits: { maxItems: 20 },
    linger: { lingerMs: 100 },
    concurrency: { perTarget: 1, perHandler: 200 },
    timeoutMs: 2_000,
    affinity: { partitions: options.partitions },
    idempotency: { by: 'batch' }, // the gate honours the key: what became of a call of a dead node need not be known
    submit: async ({ tasks, partition }, { idempotencyKey }) => {
      await sleep(options.workMs * (0.5 + Math.random()));
      const write: Write = {
        partition: `partition/${partition!.id}`,
        epoch: partition!.epoch,
        node: options.node,
        key: idempotencyKey,
        tasks: tasks.map(({ id }) => id),
      };
      const response = await fetch(`${options.url}/write`, { method: 'POST', body: JSON.stringify(write) }).catch(
        (error: unknown) => {
          throw neverSent(error) ? new LaterError('the gate is not there') : error;
        },
      );
      if (response.status === 409) throw new LaterError(await response.text(), { retryAfterMs: 200 });
      if (!response.ok) throw new Error(`gate: ${response.status} ${await response.text()}`);
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
