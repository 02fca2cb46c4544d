import type { Handler } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import type { NodeOptions } from '../../../workers/nodeOptions';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';

/** A Muster whose tasks fail in every way there is, each target in its own. */

export interface Trouble {
  to: 'fine' | 'bad' | 'again' | 'lost' | 'busy';
}

const handlerOf = (name: string, maxAttempts: number): Handler =>
  defineHandler<Trouble>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 50 },
    retry: { maxAttempts, delayed: { baseMs: 3_600_000, maxMs: 3_600_000 } },
    submit: async ({ target, tasks }) => {
      if (target === 'lost') throw new Error(`no answer after ${tasks.length} tasks`);
      if (target === 'busy') throw new TypeError('fetch failed');
      return {
        results: tasks.map(({ id }) => {
          if (target === 'bad') return { id, status: 'failed' as const, error: `no order "${id}"` };
          if (target === 'again')
            return { id, status: 'retry' as const, error: `order ${id} is locked since 12:00:01` };
          return { id, status: 'ok' as const };
        }),
      };
    },
  });

/** `orders` tries again in an hour, `final` never. */
const troubled = [handlerOf('orders', 3), handlerOf('final', 1)];

export const trouble = (to: Trouble['to'], ...ids: string[]) => ids.map((id) => ({ id, payload: { to } }));

/** Starts it, and waits until each task has ended, is parked, or waits for another attempt. */
export const startTroubled = async (
  options: Partial<NodeOptions>,
  tasks: Readonly<Record<string, readonly ReturnType<typeof trouble>[number][]>>,
): Promise<TestMuster> => {
  const muster = await startMuster(troubled, options);
  for (const [handler, some] of Object.entries(tasks)) await muster.client.submit(handler, some);
  const ids = Object.values(tasks).flatMap((some) => some.map(({ id }) => id));
  await eventually(async () => {
    const found = await muster.client.getTasks(ids);
    return found.every(({ state, attempts }) => state !== 'created' || attempts > 0) && found.every(isOver);
  });
  return muster;
};

const isOver = ({ state }: { state: string }): boolean => state !== 'batched' && state !== 'in-progress';
