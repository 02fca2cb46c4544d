import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';

const main = async (): Promise<void> => {
  const { DATABASE_URL, TEMPORAL_ADDRESS: address = 'localhost:7233', PORT = '3000' } = process.env;
  const app = await NestFactory.create(AppModule.with({ databaseUrl: DATABASE_URL!, temporal: { address } }));
  app.enableShutdownHooks(); // SIGTERM closes the application, which drains the worker
  await app.listen(Number(PORT));
};

void main();
