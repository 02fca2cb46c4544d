import type { Batch, HandlerOptions, SubmitAnswer } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import type { simulate } from '../../../workers/testing';

/** A handler that keeps order, and what a test sees of its world. */

export interface Edit {
  order: string;
  weight?: number;
}
export type Answer = (batch: Batch<Edit>) => SubmitAnswer;
export const ok: Answer = ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' })) });
export const lost: Answer = () => {
  throw new Error('connection reset');
};

export const ledger = (options: Partial<HandlerOptions<Edit>> = {}, ...answers: Answer[]) =>
  defineHandler<Edit>({
    name: 'ledger',
    target: ({ order }) => order,
    service: (order) => order,
    lane: {},
    limits: { maxItems: 3 },
    submit: async (batch) => (answers.shift() ?? ok)(batch),
    ...options,
  });
export const edits = (...ids: string[]) => ids.map((id) => ({ id, payload: { order: id[0]! } }));
type AnyWorld = Pick<ReturnType<typeof simulate>, 'calls'>;
export const said = (world: AnyWorld): [number, string | null, string][] =>
  world.calls.map(({ atMs, service, tasks }) => [atMs, service, tasks.map(({ id }) => id).join(' ')]);
export const order = (world: AnyWorld): string[] => said(world).map(([, , ids]) => ids);
