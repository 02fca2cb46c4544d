import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type { MusterModuleOptions } from './muster/muster.module';
import { MusterModule } from './muster/muster.module';
import { DownstreamModule } from './orders/downstream';
import { OrdersController } from './orders/orders.controller';
import { OrdersHandler } from './orders/orders.handler';

@Module({ controllers: [OrdersController] })
export class AppModule {
  static with(servers: Pick<MusterModuleOptions, 'databaseUrl' | 'temporal'>): DynamicModule {
    const muster = MusterModule.forRoot({
      ...servers,
      handlers: [OrdersHandler],
      imports: [DownstreamModule],
      worker: { log: 'warn', shutdownGraceMs: 20_000 },
    });
    return { module: AppModule, imports: [muster] };
  }
}
