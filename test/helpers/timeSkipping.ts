import { TestWorkflowEnvironment } from '@temporalio/testing';
import pino from 'pino';
import type { Handler } from '../../handlers';
import { createClient } from '../../client';
import { createPool } from '../../postgres/pool';
import { createNode } from '../../workers/node';
import type { NodeOptions } from '../../workers/nodeOptions';
import { HANDLER_ATTRIBUTE } from '../../workflows/definitions';
import type { ClockMode } from './clock';
import { FlowingClock, letSessionsMoveClock, SteppedClock } from './clock';
import { prebuiltBundle } from './prebuilt';
import { createDatabase, testServerPath } from './database';
import type { Skipping } from './skippingMuster';
import { SkippingMuster } from './skippingMuster';
import './muster'; // quiets the SDK's own log, once per test file

const KEYWORD = 2; // temporal.api.enums.v1.IndexedValueType

/**
 * A whole Muster on a time-skipping server of its own. Tests on it are sequential: a skip moves the
 * time of the whole server.
 */
export const startSkipping = async (
  handlers: readonly Handler[],
  options: Partial<NodeOptions> & { clock?: ClockMode } = {},
): Promise<Skipping> => {
  const { clock: mode = 'stepped', ...nodeOptions } = options;
  const env = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: testServerPath() } },
  });
  // This server cannot list search attributes, so a worker does not register them; and a start with
  // an unknown one leaves half a run behind.
  await env.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: { [HANDLER_ATTRIBUTE.name]: KEYWORD },
  });
  const database = await createDatabase({ max: 20 });
  if (mode === 'flowing') await letSessionsMoveClock(database.pool);
  const clock = mode === 'stepped' ? await SteppedClock.create(database.pool) : new FlowingClock(env);
  const pools = [1, 2].map(() =>
    clock.attach(createPool({ databaseUrl: database.url, max: 20, applicationName: 'skipping' })),
  );
  const prefix = `skip-${database.name}`;
  const node = await createNode({
    pool: pools[0]!,
    connection: env.nativeConnection,
    namespace: 'default',
    prefix,
    handlers,
    log: pino({ level: process.env['MUSTER_TEST_LOG'] ?? 'silent' }),
    callbacks: { allow: [], secret: null },
    workflowBundle: prebuiltBundle,
    shutdownGraceMs: 5_000,
    sweepEveryMs: 0, // nothing but the protocol itself: no net hides what it misses
    ...nodeOptions,
  });
  let failure: unknown;
  const running = node.run().catch((error: unknown) => (failure = error));
  const client = createClient({
    databaseUrl: database.url,
    handlers,
    prefix,
    pool: pools[1]!,
    temporal: { client: env.client },
  });
  const skipping = new SkippingMuster(env, database, client, node, prefix, clock);
  await skipping.begin();
  return Object.assign(skipping, {
    stop: async (): Promise<void> => {
      node.shutdown();
      await running;
      await client.close();
      await Promise.all(pools.map((pool) => pool.end()));
      await env.teardown();
      await database.drop();
      if (failure !== undefined) throw failure;
    },
  });
};
