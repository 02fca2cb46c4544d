import { Injectable, Module } from '@nestjs/common';

export interface Order {
  customer: string;
  total: number;
}

/** What takes orders in bulk. A test puts another one in its place. */
@Injectable()
export class Downstream {
  /** Sends orders of one customer. Returns the ids of those that it refuses. */
  async send(customer: string, orders: readonly ({ id: string } & Order)[], signal: AbortSignal): Promise<string[]> {
    const body = JSON.stringify({ customer, orders });
    const response = await fetch('http://downstream.internal/orders:batch', { method: 'POST', body, signal });
    const { refused } = (await response.json()) as { refused: string[] };
    return refused;
  }
}

@Module({ providers: [Downstream], exports: [Downstream] })
export class DownstreamModule {}
