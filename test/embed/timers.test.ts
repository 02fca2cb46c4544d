import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import { startMuster } from '../helpers/muster';

/** What a worker that has stopped leaves in the process of its host. */

const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 5 },
  idempotency: { by: 'batch' },
  affinity: { partitions: 2 },
  submit: ({ tasks }) => Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;

test('a worker that held partitions leaves no timer, which would keep its host from ending', async () => {
  const before = timers();
  const muster = await startMuster([orders]);
  await eventually(async () => (await muster.client.partitions({ handler: 'orders' })).every(({ holder }) => holder));
  await muster.stop();
  // Less than what a stop waits for at most.
  await eventually(() => timers() <= before, {
    timeoutMs: 1_000,
    what: () => `${timers()} timers, at first ${before}`,
  });
});
