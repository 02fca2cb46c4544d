import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';

/**
 * What the workers are busy with, as a config file of `muster worker`: `orders` keep 16 leaders
 * going, `edits` the queuer.
 */

export interface Task {
  key: string;
}
const common = {
  target: ({ key }: Task) => key,
  limits: { maxItems: 20 },
  linger: { lingerMs: 50 },
  idempotency: { by: 'batch' as const },
  submit: async ({ tasks }: { tasks: readonly unknown[] }) => {
    await sleep(5);
    return { results: tasks.map((_, index) => ({ index, status: 'ok' as const })) };
  },
};
export const handlers: Handler[] = [
  defineHandler<Task>({ ...common, name: 'orders', leaders: 16 }),
  defineHandler<Task>({ ...common, name: 'edits', service: (target) => target, lane: { approach: 'serial' } }),
];
