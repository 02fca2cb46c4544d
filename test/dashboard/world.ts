import { defineHandler, RejectedError } from '../../handlers';
import type { Handler } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import type { ApiWorld, Place } from '../api/world';
import { items, openWorld } from '../api/world';
import { SECRET, startReceiver } from '../services/notifier/receiver';

/** A Muster in which every state can be seen at once. */

const TRACES = 'https://traces.example.com/trace/{traceId}';
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

const to = (item: Place): string => item.to;

const handlers: Handler[] = [
  defineHandler<Place>({
    name: 'index-city',
    target: to,
    limits: { maxItems: 50 },
    linger: { lingerMs: 20 },
    retry: { maxAttempts: 1 },
    submit: async ({ tasks }) => ({
      results: tasks.map(({ id }) => {
        if (id.startsWith('bad')) return { id, status: 'failed' as const, error: 'no such country' };
        if (id.startsWith('dead')) return { id, status: 'retry' as const, error: 'HTTP 502 from the index' };
        return { id, status: 'ok' as const, result: { indexed: true } };
      }),
    }),
  }),
  defineHandler<Place>({
    name: 'mail',
    target: to,
    limits: { maxItems: 100 },
    sharesLimit: { name: 'smtp-key', rate: { limit: 50, perMs: 1_000, unit: 'calls' }, concurrency: 8 },
    linger: { lingerMs: 20 },
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
  }),
  defineHandler<Place>({
    name: 'charge',
    target: to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 20 },
    submit: async () => {
      throw new Error('connection reset while the answer was awaited');
    },
  }),
  defineHandler<Place>({
    name: 'thumbnails',
    target: to,
    weightOf: ({ note }) => note?.length ?? 1,
    limits: { maxItems: 100, maxBytes: 4_000, maxWeight: 500 },
    linger: { lingerMs: 600_000 },
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
  }),
  defineHandler<Place>({
    name: 'ledger',
    target: to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 20 },
    service: (target) => target,
    lane: { approach: 'serial', onInvalid: 'halt' },
    submit: async ({ tasks }) => {
      if (tasks.some(({ id }) => id.startsWith('lost'))) throw new Error('the ledger hung up');
      return {
        results: tasks.map(({ id }) =>
          id.startsWith('wrong')
            ? { id, status: 'failed' as const, error: 'debit without account' }
            : { id, status: 'ok' as const },
        ),
      };
    },
  }),
  defineHandler<Place>({
    name: 'parse',
    target: to,
    limits: { maxItems: 8 },
    linger: { lingerMs: 20 },
    submit: async ({ tasks }) => {
      const poisoned = tasks.some(({ id }) => id === 'poison');
      if (poisoned && tasks.length > 1) throw new RejectedError('one of them is no XML');
      return {
        results: tasks.map(({ id }) =>
          poisoned ? { id, status: 'failed' as const, error: 'no XML' } : { id, status: 'ok' as const },
        ),
      };
    },
  }),
  defineHandler<Place>({
    name: 'fleet',
    target: to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 20 },
    affinity: { partitions: 24 },
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
  }),
];

const named = (prefix: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${prefix}-${i + 1}`);

export interface DashboardWorld {
  muster: TestMuster;
  world: ApiWorld;
  fanout: string;
  execution: string;
  /** A batch of index-city that has ended. */
  batch: number;
  /** A bulk action that has ended. */
  bulk: string;
  /** How often a callback was tried. */
  tried(): number;
  stop(): Promise<void>;
}

/** Starts it, and waits until each handler stands as it is to be seen. `open`: without tokens. */
export const openDashboard = async ({ open }: { open: boolean }): Promise<DashboardWorld> => {
  const receiver = await startReceiver();
  receiver.answer = (response) => void response.writeHead(410).end();
  const muster = await startMuster(handlers, { callbacks: { allow: ['127.0.0.1:*'], secret: SECRET } });
  const { client, database, prefix } = muster;
  await client.submit('mail', items('example.com', ...named('mail', 120)));
  await client.pause('mail', { reason: 'the SMTP host is being replaced' });
  const labels = { tags: ['newsletter'], metadata: { campaign: 'spring' }, expiresAt: '2099-01-01' };
  const letters = items('example.org', ...named('letter', 30));
  await client.submit('mail', [{ ...letters[0]!, ...labels }, ...letters.slice(1)]);
  await client.submit('index-city', items('se', ...named('city', 140), ...named('bad', 3), ...named('dead', 4)));
  await client.submit('charge', items('visa', ...named('charge', 6)));
  await client.submit('thumbnails', items('eu-1', ...named('image', 37)));
  await client.submit('fleet', items('car-1', ...named('car', 5)));
  await client.submit('parse', items('xml', ...named('page', 4), 'poison', ...named('sheet', 3)));
  await client.submit('fleet', items('car-1', 'traced-1'), { traceparent: TRACEPARENT });
  const callback = { url: `${receiver.url}/orders/ended` };
  await client.submit('fleet', { id: 'told-1', payload: { to: 'car-1' }, callback });
  await client.submit('ledger', items('po-17', ...named('edit', 3)));
  for (const id of ['wrong-1', ...named('after', 3)])
    await client.submitBatch('ledger', 'po-17', items('po-17', id)).catch(() => undefined);
  for (const [service, id] of Object.entries({ 'po-18': 'applied', 'po-19': 'again' }))
    await client.submitBatches(
      'ledger',
      [`lost-${id}`, `then-${id}`].map((one) => ({ service, items: items(service, one) })),
    );
  const { batch: halting } = await client.lane('po-19', { batches: 1 }).then(({ batches }) => batches[0]!);
  await client.submitBatches('ledger', [
    { service: 'po-20', items: items('po-20', 'waits-1'), dependsOn: [halting] },
    { service: 'po-20', items: items('po-20', 'waits-2') },
  ]);
  const { id: fanout } = await client.openFanout({ userKey: 'import-17' });
  const added = await client.addItems(fanout, 400);
  await client.ackItems([...added].slice(0, 250));
  const { id: execution } = await client.execute({ functionId: 'resize', method: 'run' }, [
    ['a.png'],
    ['b.png'],
    ['c.png'],
  ]);
  await eventually(async () => (await client.getTask('poison'))?.state === 'failed', { what: 'the poison alone' });
  await eventually(async () => (await client.getTask('dead-4'))?.state === 'dead', { what: 'dead tasks' });
  await eventually(async () => (await client.getTask('charge-6'))?.state === 'unknown', { what: 'parked tasks' });
  await eventually(async () => (await client.partitions()).some(({ state }) => state === 'held'), {
    what: 'partitions',
  });
  await eventually(async () => (await client.callbacks.list({ state: 'given-up' })).callbacks.length === 1, {
    what: 'a callback that was given up',
  });
  const where = { state: 'created', target: 'example.org' } as const;
  const { id: bulk } = await client.bulk.start({ handler: 'mail', where, action: { do: 'update', priority: 5 } });
  await eventually(async () => (await client.bulk.get(bulk))?.state === 'done', { what: 'the end of a bulk action' });
  const batch = (await client.getTask('city-1'))!.batch!;
  const world = await openWorld({ open, handlers, muster: { database, prefix }, traceUrl: TRACES });
  return {
    ...{ muster, world, fanout, execution, batch, bulk },
    tried: () => receiver.received.length,
    stop: async () => {
      await world.stop();
      await muster.stop();
      await receiver.close();
    },
  };
};
