import 'reflect-metadata';
import { PrismaPg } from '@prisma/adapter-pg';
import { DataSource } from 'typeorm';
import { fromPrisma, fromTypeOrm } from '../../client';
import { describeLibrary } from '../client/transactions/scenario';
import { PrismaClient } from './generated/client';

/** Submits in transactions of the large libraries: `npm run test:libraries`. */

describeLibrary('Prisma', async (url) => {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  await prisma.$connect();
  return {
    remedy: 'Pass fromPrisma(tx).',
    transact: (work) =>
      prisma.$transaction((tx) => work({ tx: fromPrisma(tx), raw: tx, send: (text) => tx.$executeRawUnsafe(text) }), {
        timeout: 60_000,
      }),
    outside: () => fromPrisma(prisma),
    end: () => prisma.$disconnect(),
  };
});

const dataSource = (url: string): Promise<DataSource> => new DataSource({ type: 'postgres', url }).initialize();

describeLibrary('TypeORM, with its entity manager', async (url) => {
  const source = await dataSource(url);
  return {
    remedy: 'Pass fromTypeOrm(tx).',
    transact: (work) =>
      source.transaction((manager) =>
        work({ tx: fromTypeOrm(manager), raw: manager, send: (text) => manager.query(text) }),
      ),
    outside: () => fromTypeOrm(source.manager),
    end: () => source.destroy(),
  };
});

describeLibrary('TypeORM, with a query runner', async (url) => {
  const source = await dataSource(url);
  const outside = source.createQueryRunner();
  return {
    remedy: 'Pass fromTypeOrm(tx).',
    transact: async (work) => {
      const runner = source.createQueryRunner();
      await runner.startTransaction();
      try {
        const result = await work({ tx: fromTypeOrm(runner), raw: runner, send: (text) => runner.query(text) });
        await runner.commitTransaction();
        return result;
      } catch (error) {
        await runner.rollbackTransaction();
        throw error;
      } finally {
        await runner.release();
      }
    },
    outside: () => fromTypeOrm(outside),
    end: async () => {
      await outside.release();
      await source.destroy();
    },
  };
});
