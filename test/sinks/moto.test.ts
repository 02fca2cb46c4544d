import { CreateDeliveryStreamCommand, FirehoseClient } from '@aws-sdk/client-firehose';
import {
  CreateStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
} from '@aws-sdk/client-kinesis';
import { CreateTopicCommand, SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { ExampleProcess } from '../../examples/support/child';
import { eventbridgeSink } from '../../handlers/sinks/eventbridge';
import { firehoseSink } from '../../handlers/sinks/firehose';
import { kinesisSink } from '../../handlers/sinks/kinesis';
import { snsSink } from '../../handlers/sinks/sns';
import { sqsSink } from '../../handlers/sinks/sqs';
import { Examples } from '../examples/helpers';
import { testDynamoDb } from './protocols/dynamodb';
import type { At } from './protocols/sent';
import { LOCAL, OK, sent, ten } from './protocols/sent';
import { Queues, testSqs } from './protocols/sqs';

/** The sinks of AWS against moto, a server of the protocols that others wrote. @slow */

const INSTALL_MS = 310_000;
const examples = new Examples();
let server: ExampleProcess;
let at: At;

beforeAll(async () => {
  server = await examples.start('sqs/server', ['--queues', ''], { readyMs: INSTALL_MS });
  at = { ...LOCAL, endpoint: server.url };
}, INSTALL_MS);
afterAll(() => examples.stopAll());

describe('SQS', () => testSqs(() => at));
describe('DynamoDB', () => testDynamoDb(() => at));

test('SQS: one message that is too long is refused with its call, and halving finds it', async () => {
  const queues = new Queues(at);
  const queueUrl = await queues.create('short', { MaximumMessageSize: '1024' });
  const handler = sqsSink({ name: 'sqs', ...at });
  const payloads = [
    { queueUrl, body: 'x'.repeat(2_000) },
    { queueUrl, body: 'short' },
  ];
  expect(await sent(handler, payloads)).toMatchObject({ kind: 'rejected' });
  expect(await sent(handler, payloads.slice(1))).toEqual(OK);
  queues.close();
});

test('SNS: messages reach a subscribed queue, and an absent topic halts', async () => {
  const sns = new SNSClient(at);
  const { TopicArn: topicArn = '' } = await sns.send(new CreateTopicCommand({ Name: 'news' }));
  const queues = new Queues(at);
  const queueUrl = await queues.create('subscriber');
  const Endpoint = `arn:aws:sqs:${at.region}:123456789012:subscriber`;
  await sns.send(new SubscribeCommand({ TopicArn: topicArn, Protocol: 'sqs', Endpoint }));
  const handler = snsSink({ name: 'sns', ...at });
  expect(
    await sent(
      handler,
      ten((n) => ({ topicArn, message: `news ${n}`, subject: 'S' })),
    ),
  ).toEqual(OK);
  expect(await queues.depth(queueUrl)).toBe(10);
  const absent = [{ topicArn: `${topicArn}-absent`, message: 'm' }];
  expect(await sent(handler, absent)).toMatchObject({ kind: 'halted', error: expect.stringContaining('NotFound') });
  sns.destroy();
  queues.close();
});

test('Kinesis: records are in the stream in their order, and an absent stream halts', async () => {
  const client = new KinesisClient({ ...at, requestHandler: new NodeHttpHandler() });
  await client.send(new CreateStreamCommand({ StreamName: 'events', ShardCount: 1 }));
  const handler = kinesisSink({ name: 'kinesis', ...at });
  const payloads = ten((n) => ({ stream: 'events', partitionKey: 'p', data: `event ${n} ä` }));
  expect(await sent(handler, payloads)).toEqual(OK);
  const shard = { StreamName: 'events', ShardId: 'shardId-000000000000', ShardIteratorType: 'TRIM_HORIZON' as const };
  const { ShardIterator } = await client.send(new GetShardIteratorCommand(shard));
  const { Records = [] } = await client.send(new GetRecordsCommand({ ShardIterator }));
  expect(Records.map(({ Data }) => Buffer.from(Data!).toString())).toEqual(payloads.map(({ data }) => data));
  const absent = payloads.map((payload) => ({ ...payload, stream: 'absent' }));
  expect(await sent(handler, absent)).toMatchObject({ kind: 'halted' });
  client.destroy();
});

test('Firehose: records are taken, and an absent stream halts', async () => {
  const credential = `local/20260101/${at.region}/s3/aws4_request`;
  const signed = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=host, Signature=x`;
  const bucket = await fetch(`${at.endpoint}/bucket`, { method: 'PUT', headers: { authorization: signed } });
  expect(bucket.status).toBe(200);
  const client = new FirehoseClient(at);
  const S3DestinationConfiguration = { RoleARN: 'arn:aws:iam::123456789012:role/r', BucketARN: 'arn:aws:s3:::bucket' };
  await client.send(new CreateDeliveryStreamCommand({ DeliveryStreamName: 'logs', S3DestinationConfiguration }));
  const handler = firehoseSink({ name: 'firehose', ...at });
  const payloads = ten((n) => ({ stream: 'logs', data: `line ${n}\n` }));
  expect(await sent(handler, payloads)).toEqual(OK);
  const absent = payloads.map((payload) => ({ ...payload, stream: 'absent' }));
  expect(await sent(handler, absent)).toMatchObject({ kind: 'halted' });
  client.destroy();
});

test('EventBridge: events get their ids', async () => {
  const handler = eventbridgeSink({ name: 'events', ...at });
  const payloads = ten((n) => ({ bus: 'default', source: 'shop', detailType: 'ordered', detail: { n } }));
  expect(await sent(handler, payloads)).toEqual(OK);
});
