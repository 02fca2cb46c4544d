import { Client, WorkflowFailedError } from '@temporalio/client';
import { defineHandler } from '../../handlers';
import { connectTo, temporalAddress } from '../helpers/database';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { UserWorker } from '../helpers/userWorker';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import { EncryptionCodec } from './codec';

/**
 * The user's worker has a codec, and Muster's has none: what it is given cannot be read, and it
 * says so at once.
 */

let muster: TestMuster;
let worker: UserWorker;
let client: Client;
const dataConverter = { payloadCodecs: [new EncryptionCodec()] };
beforeAll(async () => {
  muster = await startMuster([
    defineHandler<string>({
      name: 'jobs',
      target: (to) => to,
      limits: { maxItems: 10 },
      submit: async () => ({ results: [] }),
    }),
  ]);
  worker = await startUserWorker(muster, await bundleWorkflows(require.resolve('./workflows/user')), {}, dataConverter);
  client = new Client({ connection: await connectTo({ address: temporalAddress() }), dataConverter });
});
afterAll(async () => {
  await client.connection.close();
  await worker.stop();
  await muster.stop();
});

test('submitTask is refused, with the encoding and the remedy', async () => {
  const run = client.workflow.execute('one', {
    workflowId: `${muster.prefix}/one`,
    taskQueue: worker.taskQueue,
    args: [muster.prefix, 'a', 'secret'],
    workflowExecutionTimeout: '60s',
  });
  const error = await run.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  expect((error as WorkflowFailedError).cause).toMatchObject({
    type: 'MusterUnreadable',
    nonRetryable: true,
    message:
      'Cannot read the task: its payload is encoded as binary/encrypted. Give the worker the same data converter: export temporal.dataConverter from muster.config.ts.',
  });
  expect(await muster.client.getTask('a')).toBeNull();
});
