import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { defineHandler } from '../../../handlers';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/**
 * A namespace that an operator deletes and makes again under the same name, beside work.
 *
 * @full
 */

/**
 * The namespace is looked at every 5 s; polls of the old one end only after a minute: without the
 * look work stood for 51 to 59 s.
 */
const WITHIN_MS = 40_000;
const orders = defineHandler<{ to: string }>({
  name: 'orders',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 50 },
  submit: async ({ tasks }) => {
    await sleep(50);
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});

const NAMESPACE = `replaced-${process.pid}`;
let connection: Connection;
let muster: TestMuster;
beforeAll(async () => {
  connection = await Connection.connect({ address: temporalAddress() });
  await make();
  muster = await startMuster([orders], { namespace: NAMESPACE });
});
afterAll(async () => {
  await muster.stop();
  await connection.operatorService.deleteNamespace({ namespace: NAMESPACE });
  await connection.close();
});

/** Makes the namespace, and waits until the server knows it. */
const make = async (): Promise<void> => {
  const namespace = NAMESPACE;
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('1 day') });
  const isKnown = (): Promise<boolean> =>
    connection.workflowService.describeNamespace({ namespace }).then(
      () => true,
      () => false,
    );
  await eventually(isKnown, { timeoutMs: 30_000, what: 'the namespace' });
};

/** Submits to 40 targets until it is stopped: pollers are many then, and all have a poll open. */
const arrivals = () => {
  let isOn = true;
  let n = 0;
  const over = (async () => {
    while (isOn) {
      const tasks = Array.from({ length: 4 }, () => ({ id: `t-${n}`, payload: { to: `to-${n++ % 40}` } }));
      await muster.client.submit('orders', tasks);
      await sleep(100);
    }
  })();
  return {
    given: () => n,
    stop: () => {
      isOn = false;
      return over;
    },
  };
};
const succeeded = async (): Promise<number> =>
  (await muster.database.pool.query<{ n: number }>('select coalesce(sum(n), 0)::int as n from batch where state = 4'))
    .rows[0]!.n;

test('work goes on within seconds after the namespace was deleted and made again', async () => {
  const load = arrivals();
  await eventually(async () => (await succeeded()) > 100, { timeoutMs: 30_000, what: 'work' });
  await connection.operatorService.deleteNamespace({ namespace: NAMESPACE });
  await sleep(1_000);
  await make();
  const before = load.given();
  const goesOn = async (): Promise<boolean> => (await succeeded()) > before + 40;
  try {
    await eventually(goesOn, { timeoutMs: WITHIN_MS, what: 'work to go on' });
  } finally {
    await load.stop();
  }
  await eventually(async () => (await succeeded()) === load.given(), { timeoutMs: 30_000, what: 'all to have ended' });
  expect(() => muster.node.checkWorkers()).not.toThrow();
  await expectWhole(muster.client);
}, 120_000);
