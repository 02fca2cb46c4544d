import { randomBytes } from 'node:crypto';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import type { RegisteredFunction } from '../../../handlers/functions';
import type { Client } from '../../../client';
import { createClient } from '../../../client';
import type { Handler } from '../../../handlers';
import { ROLES, rolesSql } from '../../../postgres/migrating/roles';
import type { Pool } from '../../../postgres/pool';
import { createPool } from '../../../postgres/pool';
import { createNode } from '../../../workers/node';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { prebuiltBundle } from '../../helpers/prebuilt';

Runtime.install({ logger: new DefaultLogger('ERROR') });

/** A Muster whose worker and client log in as members of the roles that `rolesSql` makes. */
export interface RolesWorld {
  database: TestDatabase;
  /** URLs of login users, one per role. */
  urls: Record<keyof typeof ROLES, string>;
  pools: Record<keyof typeof ROLES, Pool>;
  client: Client;
  stop(): Promise<void>;
}

export const openRolesWorld = async (
  handlers: readonly Handler[],
  functions: readonly RegisteredFunction[],
): Promise<RolesWorld> => {
  const database = await createDatabase();
  const twice = `${rolesSql('muster')}${rolesSql('muster')}`; // it may be repeated
  await database.pool.query(twice);
  const suffix = randomBytes(5).toString('hex');
  const users: string[] = [];
  const login = async (role: keyof typeof ROLES): Promise<string> => {
    const user = `t_${role}_${suffix}`;
    users.push(user);
    await database.pool.query(`create role ${user} login password 'secret' in role ${ROLES[role]}`);
    const url = new URL(database.url);
    url.username = user;
    url.password = 'secret';
    return url.href;
  };
  const urls = { owner: await login('owner'), worker: await login('worker'), submit: await login('submit') };
  const poolOf = (url: string): Pool => createPool({ databaseUrl: url, max: 10 });
  const pools = { owner: poolOf(urls.owner), worker: poolOf(urls.worker), submit: poolOf(urls.submit) };
  const prefix = `t-${suffix}`;
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  const node = await createNode({
    pool: pools.worker,
    connection,
    namespace: 'default',
    prefix,
    handlers,
    log: pino({ level: process.env['MUSTER_TEST_LOG'] ?? 'silent' }),
    callbacks: { allow: [], secret: null },
    executions: { functions: new Map(functions.map((one) => [one.name, one])), serves: true, rollCallMs: 300 },
    workflowBundle: prebuiltBundle,
    shutdownGraceMs: 5_000,
  });
  let failure: unknown;
  const running = node.run().catch((error: unknown) => (failure = error));
  const client = createClient({ databaseUrl: urls.submit, handlers, prefix, temporal: { address: temporalAddress() } });
  return {
    database,
    urls,
    pools,
    client,
    stop: async () => {
      node.shutdown();
      await running;
      await client.close();
      await connection.close();
      await Promise.all(Object.values(pools).map((pool) => pool.end()));
      for (const user of users) await database.pool.query(`drop role ${user}`);
      await database.drop();
      if (failure !== undefined) throw failure;
    },
  };
};
