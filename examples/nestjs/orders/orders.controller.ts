import { Body, Controller, Get, HttpCode, Inject, NotFoundException, Param, Put } from '@nestjs/common';
import { BadRequestException } from '@nestjs/common';
import type { Client } from 'temporal-muster';
import { InvalidTaskError } from 'temporal-muster';
import { InjectMuster } from '../muster/muster.module';
import type { Order } from './downstream';
import { OrdersHandler } from './orders.handler';

/** Accepts an order as a task, and says what became of it. */
@Controller('orders')
export class OrdersController {
  constructor(
    @InjectMuster() private readonly muster: Client,
    @Inject(OrdersHandler) private readonly orders: OrdersHandler,
  ) {}

  /** The id is the caller's: a request that is sent again is the same task. */
  @Put(':id')
  @HttpCode(202)
  async accept(@Param('id') id: string, @Body() order: Order): Promise<{ accepted: number }> {
    try {
      const { accepted } = await this.muster.submit(this.orders.handler, { id, payload: order });
      return { accepted };
    } catch (error) {
      if (error instanceof InvalidTaskError) throw new BadRequestException(error.message);
      throw error;
    }
  }

  @Get(':id')
  async find(@Param('id') id: string): Promise<{ state: string; error?: string | null }> {
    const task = await this.muster.getTask(id);
    if (task === null) throw new NotFoundException();
    return { state: task.state, error: task.error };
  }
}
