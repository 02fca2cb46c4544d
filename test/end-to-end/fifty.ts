import { defineHandler } from '../../handlers';

/** Calls of `fifty` in this process. */
export const calls: string[][] = [];

/** All of one target, 50 per call; a call of fewer waits for longer than a test. */
export const fifty = defineHandler({
  name: 'fifty',
  target: () => 'one',
  limits: { maxItems: 50 },
  linger: { lingerMs: 60_000 },
  submit: ({ tasks }) => {
    calls.push(tasks.map(({ id }) => id));
    return Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
});
