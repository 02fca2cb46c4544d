import { defineHandler } from '../../handlers';
import type { Batch, Handler, HandlerOptions, SubmitAnswer } from '../../handlers';

export interface Errand {
  to: string;
}
interface Call {
  /** By the clock that the test gave, when the handler was called. */
  at: number;
  target: string;
  ids: string[];
}

/** A handler whose answers the test writes, and which remembers its calls. */
export interface Scripted {
  handler: Handler;
  calls: Call[];
  /** Answers of the next calls, in their order; when they are used up, every member is ok. */
  answers: ((batch: Batch<Errand>) => SubmitAnswer | Promise<SubmitAnswer>)[];
}

export const allOk = (batch: Batch<Errand>): SubmitAnswer => ({
  results: batch.tasks.map((task) => ({ id: task.id, status: 'ok' as const })),
});

/**
 * The target is the payload's `to`; one leader, so that a test knows its workflow, and no repeats
 * in place, so that every wait is in the store.
 */
export const scripted = (
  name: string,
  now: () => Promise<number>,
  options: Partial<HandlerOptions<Errand>> = {},
): Scripted => {
  const calls: Call[] = [];
  const answers: Scripted['answers'] = [];
  const handler = defineHandler<Errand>({
    name,
    target: (errand) => errand.to,
    limits: { maxItems: 10 },
    leaders: 1,
    retry: { inPlace: { times: 0 } },
    submit: async (batch) => {
      calls.push({ at: await now(), target: batch.target, ids: batch.tasks.map((task) => task.id) });
      return (answers.shift() ?? allOk)(batch);
    },
    ...options,
  });
  return { handler: handler, calls, answers };
};
