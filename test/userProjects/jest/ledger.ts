import { defineHandler } from 'temporal-muster';

export interface Edit {
  order: string;
  price: number;
}

/** The downstream, which a test plays. */
export type Post = (order: string, prices: number[]) => Promise<void>;

export const ledger = (post: Post) =>
  defineHandler({
    name: 'ledger',
    target: (edit: Edit) => edit.order,
    service: (order) => order,
    lane: { onInvalid: 'halt' },
    limits: { maxItems: 50 },
    submit: async (batch) => {
      const prices = batch.tasks.map(({ payload }) => payload.price);
      await post(batch.target, prices);
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
