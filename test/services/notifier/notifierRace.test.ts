import { bundleWorkflowCode } from '@temporalio/worker';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import { insertNotifications } from '../../../postgres/calls/records';
import { wakeNotifier } from '../../../workflows/wake';
import type { NodeOptions } from '../../../workers/nodeOptions';
import { eventually } from '../../helpers/eventually';
import { rounds } from '../../helpers/long';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import type { Receiver } from './receiver';
import { SECRET, startReceiver } from './receiver';
import { Requests } from '../../../workflows/temporal/requests';

/** @full */

const RACES = rounds(60, 200);
/** A lost wake is lost for good: the machine may be as slow as it likes. */
const LOST_MS = 60_000;
/** Enough for the notifier that loses them: only where one is to be found. */
const SOON_LOST_MS = 4_000;

/**
 * Writes a notification and wakes the notifier, right after the one before was delivered: while the
 * look that delivered it reads what is left, while its answer travels, while the workflow closes.
 * The sweeper is off. Answers how often nothing came of it; ends at the first time.
 */
const race = async (
  races: number,
  lostMs: number,
  options: Partial<NodeOptions> = {},
): Promise<{ lost: number; delivered: number }> => {
  const receiver: Receiver = await startReceiver();
  const muster: TestMuster = await startMuster([], {
    callbacks: { allow: ['127.0.0.1:*'], secret: SECRET },
    sweepEveryMs: 0,
    ...options,
  });
  const { pool } = muster.database;
  const temporal = await muster.client.temporal();
  let lost = 0;
  try {
    const recipient = await registerRecipient(pool, 'webhook', { url: receiver.url });
    let told = (): void => undefined;
    receiver.answer = (response) => {
      response.writeHead(204).end();
      told();
    };
    for (let round = 0; round < races && lost === 0; round++) {
      const delivered = new Promise<void>((resolve) => (told = resolve));
      const body = { handler: 'h', target: 't', batch: null, tasks: [{ id: `task-${round}`, state: 'succeeded' }] };
      await insertNotifications(pool, [{ batch_id: null, attempt: null, recipient_id: recipient, body }]);
      expect(await wakeNotifier(new Requests(temporal), muster.prefix)).toBeNull();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), lostMs)));
      if ((await Promise.race([delivered, late])) === 'late') {
        lost++;
        await wakeNotifier(new Requests(temporal), muster.prefix);
        await delivered;
      }
      clearTimeout(timer);
      await new Promise((resolve) => setTimeout(resolve, (round % 20) * 2)); // a sweep over the 40 ms in which the notifier reads, answers and closes
    }
    await eventually(async () => (await pool.query('select from notification where done_at is null')).rowCount === 0);
    return { lost, delivered: receiver.received.length };
  } finally {
    await muster.stop();
    await receiver.close();
  }
};

test(`no look is lost in ${RACES} races with the notifier that is about to end`, async () => {
  const { lost, delivered } = await race(RACES, LOST_MS);
  expect({ lost, delivered }).toEqual({ lost: 0, delivered: RACES });
}, 240_000);

test('the race is one: it finds the notifier that lowers its flag after the look', async () => {
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: require.resolve('../workflows/forgetful'),
    logger: { trace() {}, debug() {}, info() {}, warn() {}, error: console.error, log() {} },
  });
  expect((await race(200, SOON_LOST_MS, { workflowBundle })).lost).toBeGreaterThan(0);
}, 240_000);
