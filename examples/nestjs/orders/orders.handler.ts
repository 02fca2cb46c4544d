import { Inject, Injectable } from '@nestjs/common';
import { defineHandler } from 'temporal-muster';
import type { HandlerProvider } from '../muster/muster.module';
import { Downstream } from './downstream';
import type { Order } from './downstream';

@Injectable()
export class OrdersHandler implements HandlerProvider {
  constructor(@Inject(Downstream) private readonly downstream: Downstream) {}

  readonly handler = defineHandler({
    name: 'orders',
    target: (order: Order) => order.customer,
    limits: { maxItems: 100 },
    linger: { lingerMs: 200 },
    submit: async (batch, { signal }) => {
      const orders = batch.tasks.map(({ id, payload }) => ({ id, ...payload }));
      const refused = await this.downstream.send(batch.target, orders, signal);
      return {
        results: orders.map(({ id }) =>
          refused.includes(id) ? { id, status: 'failed', error: 'refused' } : { id, status: 'ok' },
        ),
      };
    },
  });
}
