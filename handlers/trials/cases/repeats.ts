import type { Case } from '../case';
import { all } from '../case';
import type { Handler } from '../../types';
import type { Wire } from '../trial';

const needsKey = (_wire: Wire, { idempotency }: Handler): string | undefined =>
  idempotency === 'none' ? 'it has no idempotency key: what is unknown is parked, or sent again by choice' : undefined;

const needsTaskKey = (wire: Wire, handler: Handler): string | undefined =>
  needsKey(wire, handler) ??
  (handler.idempotency !== 'none' && handler.idempotency.by === 'task' ? undefined : 'its key is of the batch');

/** Batches and tasks that are sent again, though they were applied. */
export const REPEAT_CASES: readonly Case[] = [
  {
    name: 'two workers send the same batch at once: one effect per task',
    room: 'repeats',
    skips: needsKey,
    run: async (make, tasks) => {
      const [one] = await Promise.all([make('same').run(tasks), make('same').run(tasks)]);
      return one;
    },
    judge: all('succeeded'),
  },
  {
    name: 'a batch that was applied is sent again: one effect per task',
    room: 'repeats',
    skips: needsKey,
    run: async (make, tasks) => {
      await make('same').run(tasks);
      return make('same').run(tasks);
    },
    judge: all('succeeded'),
  },
  {
    name: 'tasks that were applied are sent again in another batch and order: one effect per task',
    room: 'repeats',
    skips: needsTaskKey,
    run: async (make, tasks) => {
      await make('one').run(tasks);
      return make('other').run(tasks.slice(1).toReversed());
    },
    judge: all('succeeded'),
  },
];
