import { defineHandler } from '../../handlers';
import type { Handler, HandlerOptions } from '../../handlers';

/** The handlers of the heal tests, and what their downstreams saw. */

interface Work {
  to: string;
}
export const HOUR_MS = 3_600_000;
export const calls: string[] = [];
export const interrupted: string[] = [];
/** Calls of the target `gate` end when it is open. */
export const gate = { open: Promise.resolve() };
const define = (name: string, more: Partial<HandlerOptions<Work>> = {}): Handler =>
  defineHandler<Work>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    leaders: 1,
    submit: async ({ target, tasks }, { signal }) => {
      calls.push(...tasks.map(({ id }) => `${name}: ${id}`));
      signal.addEventListener('abort', () => interrupted.push(...tasks.map(({ id }) => id)));
      if (target === 'gate') await gate.open;
      if (target === 'later')
        return { results: tasks.map(({ id }) => ({ id, status: 'retry', retryAfterMs: HOUR_MS })) };
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' })) };
    },
    ...more,
  });
// Longer than a call of it is held open here.
export const plain = define('plain', { timeoutMs: 120_000 });
export const laned = define('laned', { lane: {} });
export const other = define('other');
/** What the downstream was asked about. */
export const asked: string[] = [];
export const accepting = define('accepting', {
  submit: ({ tasks }) => Promise.resolve({ status: 'accepted', reference: tasks[0]!.id }),
  status: (references) => {
    asked.push(...references);
    return Promise.resolve(references.map((reference) => ({ reference, status: 'done' })));
  },
  results: (reference) => [{ id: reference, status: 'ok' }],
  poll: { everyMs: 86_400_000, deadlineMs: 7 * 86_400_000 },
});
