import { CreateQueueCommand, GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { sqsSink } from '../../handlers/sinks/sqs';
import { buildBatch, outcomeOf } from '../examples/helpers';
import type { ElasticMq } from './elasticMq';
import { startElasticMq } from './elasticMq';

/** The SQS sink against ElasticMQ. @full */

const aws = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
let server: ElasticMq;
let sqs: SQSClient;
beforeAll(async () => {
  server = await startElasticMq();
  sqs = new SQSClient({ ...aws, endpoint: server.url });
}, 400_000);
afterAll(async () => {
  sqs.destroy();
  await server.stop();
});

const OK = { kind: 'results', deviants: [] };
async function depth(QueueUrl: string): Promise<number> {
  const AttributeNames = ['ApproximateNumberOfMessages' as const];
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }));
  return Number(Attributes?.ApproximateNumberOfMessages);
}

test('ten messages arrive, and an absent queue halts', async () => {
  const { QueueUrl: queueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: 'standard' }));
  const handler = sqsSink({ name: 'sqs', ...aws, endpoint: server.url });
  const payloads = Array.from({ length: 10 }, (_, n) => ({
    queueUrl,
    body: `message ${n} ä`,
    attributes: { n: `${n}` },
  }));
  expect(await outcomeOf(handler, buildBatch(handler, payloads))).toEqual(OK);
  expect(await depth(queueUrl)).toBe(10);
  const nowhere = [{ queueUrl: `${queueUrl}-nowhere`, body: 'b' }];
  expect(await outcomeOf(handler, buildBatch(handler, nowhere))).toMatchObject({ kind: 'halted' });
});

test('a FIFO queue takes a batch that is sent twice once', async () => {
  const FifoQueue = { QueueName: 'ordered.fifo', Attributes: { FifoQueue: 'true' } };
  const { QueueUrl: queueUrl = '' } = await sqs.send(new CreateQueueCommand(FifoQueue));
  const handler = sqsSink({ name: 'sqs', fifo: true, ...aws, endpoint: server.url });
  const payloads = Array.from({ length: 10 }, (_, n) => ({ queueUrl, body: `message ${n}`, groupId: `group-${n}` }));
  const batch = buildBatch(handler, payloads);
  expect([await outcomeOf(handler, batch), await outcomeOf(handler, batch)]).toEqual([OK, OK]);
  expect(await depth(queueUrl)).toBe(10);
});
