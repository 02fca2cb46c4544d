import { Connection, Client as TemporalClient } from '@temporalio/client';
import { newToken, hashToken } from '../../../workers/api/tokens';
import { insertToken, SCOPES } from '../../../postgres/api/token';
import { startTemporalDev } from '../../../workers/embedded';
import { items, openWorld } from '../../api/world';
import { snapshot } from '../snapshot';
import type { Asked } from './jobs';
import { routesAsked, uiAsked } from './jobs';

/** A word of the store that no answer to a page may have. */
export const SECRET = 'quicksilver';

/** A server that pages attack. */
export interface Attacked {
  name: string;
  port: number;
  asked: Asked[];
  /** Headers by which a program may do all of it. */
  program: Readonly<Record<string, string>>;
  /** Everything that a request could change. */
  seen(): Promise<string>;
  stop(): Promise<void>;
}

/** An API, with things in it. */
export const startAttackedApi = async (kind: 'open' | 'tokens'): Promise<Attacked> => {
  const world = await openWorld({ open: kind === 'open', limits: { maxWaitS: 0 } });
  await world.client.submit('items', items(SECRET, 't', 'u', 'planted'));
  const { id: fanout } = await world.client.openFanout();
  await world.client.addItems(fanout, 8);
  const { id: execution } = await world.client.execute({ functionId: 'f', method: SECRET }, [[SECRET]]);
  const token = newToken();
  if (kind === 'tokens')
    await insertToken(world.database.pool, { name: 'all', hash: hashToken(token), scopes: SCOPES });
  const { port } = new URL(world.api.url);
  return {
    name: kind === 'open' ? 'API that is open' : 'API with tokens',
    port: Number(port),
    asked: routesAsked(world.api.routes, { fanout, execution }),
    program: {
      'content-type': 'application/json',
      ...(kind === 'open' ? {} : { authorization: `Bearer ${token}` }),
    },
    seen: () => snapshot(world.database),
    stop: () => world.stop(),
  };
};

/** The Web UI of `muster dev`, with a workflow that waits. */
export const startAttackedUi = async (): Promise<Attacked> => {
  const dev = await startTemporalDev({ ui: true });
  const connection = await Connection.connect({ address: dev.address });
  const temporal = new TemporalClient({ connection });
  const start = { workflowId: SECRET, taskQueue: 'nobody' };
  const handle = await temporal.workflow.start(SECRET, start);
  const seen = async (): Promise<string> => {
    const { status, historyLength } = await handle.describe();
    const other = await temporal.workflow
      .getHandle('other')
      .describe()
      .then(
        () => 'started',
        () => 'none',
      );
    return `${SECRET}: ${status.name}, ${historyLength} events; other: ${other}`;
  };
  return {
    name: 'Web UI of muster dev',
    port: Number(new URL(dev.uiUrl!).port),
    asked: uiAsked(SECRET),
    program: { 'content-type': 'application/json' },
    seen,
    stop: async () => {
      await connection.close();
      await dev.stop();
    },
  };
};
