import type { Contract } from '../../handlers';
import { faultsIn } from '../handlers/build';
import { SQSClient } from '@aws-sdk/client-sqs';
import { readRefusal } from '../../handlers/sinks/aws/refusal';
import { dynamodbSink } from '../../handlers/sinks/dynamodb';
import { eventbridgeSink } from '../../handlers/sinks/eventbridge';
import { kinesisSink } from '../../handlers/sinks/kinesis';
import { loadPackage } from '../../handlers/sinks/missingPackage';
import { opensearchSink } from '../../handlers/sinks/opensearch';
import { snsSink } from '../../handlers/sinks/sns';
import { sqsSink } from '../../handlers/sinks/sqs';
import { buildBatch, outcomeOf } from '../examples/helpers';

/** What sinks refuse before anything is sent, and how they read errors. */

const queueUrl = 'https://sqs.eu-central-1.amazonaws.com/1/orders';
const fits = (contract: Pick<Contract, 'schema'>, value: unknown): boolean => faultsIn(contract, value).length === 0;

test('an SDK that is not installed halts the handler, and the reason names the package', async () => {
  const missing = loadPackage('the X sink', '@aws-sdk/client-absent', () =>
    Promise.reject(
      Object.assign(new Error("Cannot find package '@aws-sdk/client-absent' imported from x"), {
        code: 'ERR_MODULE_NOT_FOUND',
      }),
    ),
  );
  await expect(missing).rejects.toMatchObject({
    name: 'HaltError',
    message: expect.stringContaining('npm install @aws-sdk/client-absent'),
  });
});

test('a package that is there and cannot be loaded is not called missing', async () => {
  const broken = Object.assign(new Error("Cannot find module './other'"), { code: 'MODULE_NOT_FOUND' });
  await expect(loadPackage('the X sink', 'x', () => Promise.reject(broken))).rejects.toBe(broken);
});

test('a client that tries again by itself halts the handler', async () => {
  const client = new SQSClient({ region: 'us-east-1', endpoint: 'http://127.0.0.1:9' });
  const handler = sqsSink({ name: 'sqs', client });
  expect(await outcomeOf(handler, buildBatch(handler, [{ queueUrl, body: 'b' }]))).toMatchObject({
    kind: 'halted',
    error: expect.stringContaining('client.maxAttempts: expected 1, got 3'),
  });
});

test('SQS: what a queue would refuse is refused when it is submitted', () => {
  const [standard, fifo] = [sqsSink({ name: 'a' }), sqsSink({ name: 'b', fifo: true })];
  expect(fits(standard, { queueUrl, body: 'b', delaySeconds: 900 })).toBe(true);
  expect(fits(standard, { queueUrl, body: 'b', delaySeconds: 901 })).toBe(false);
  expect(fits(standard, { queueUrl, body: 'a\u0001' })).toBe(false);
  expect(fits(standard, { queueUrl, body: '😀\n' })).toBe(true);
  expect(fits(standard, { queueUrl, body: '' })).toBe(false);
  expect(fits(fifo, { queueUrl, body: 'b', groupId: 'g' })).toBe(false);
  expect(fits(fifo, { queueUrl: `${queueUrl}.fifo`, body: 'b', groupId: 'g' })).toBe(true);
  expect(fits(fifo, { queueUrl: `${queueUrl}.fifo`, body: 'b' })).toBe(false);
});

test('the limits of each call, and the keys that keep an order', () => {
  const [fifo, plain] = [sqsSink({ name: 'a', fifo: true, maxBytes: 9_999_999 }), snsSink({ name: 'b' })];
  expect(fifo.limits).toMatchObject({ maxItems: 10, maxBytes: 1_048_576 });
  expect(fifo.idempotency).toEqual({ by: 'task', windowMs: 300_000 });
  expect(fifo.distinctBy?.({ queueUrl, body: 'b', groupId: 'g' })).toBe('g');
  expect([plain.idempotency, plain.onUnknown, plain.distinctBy]).toEqual(['none', 'park', undefined]);
  const dynamodb = dynamodbSink({ name: 'd', keyAttributes: ['pk', 'sk'] });
  const keyOf = (put: Record<string, unknown>) => dynamodb.distinctBy?.({ table: 'abc', put });
  expect(keyOf({ pk: 'a', sk: 1 })).toBe(keyOf({ sk: 1, pk: 'a', more: true }));
  expect(keyOf({ pk: 'a', sk: 1 })).not.toBe(keyOf({ pk: 'a', sk: '1' }));
});

test('DynamoDB: a write is one put or one delete, with its whole key', () => {
  const handler = dynamodbSink({ name: 'd', keyAttributes: ['pk'] });
  expect(fits(handler, { table: 'abc', put: { pk: 'a' } })).toBe(true);
  expect(fits(handler, { table: 'abc', put: { pk: 'a' }, delete: { pk: 'a' } })).toBe(false);
  expect(fits(handler, { table: 'abc' })).toBe(false);
  expect(fits(handler, { table: 'abc', put: { id: 'a' } })).toBe(false);
});

test('Kinesis, EventBridge, OpenSearch: payloads that their service would refuse', () => {
  const record = { stream: 's', partitionKey: 'p', data: 'x' };
  expect(fits(kinesisSink({ name: 'k' }), record)).toBe(true);
  expect(fits(kinesisSink({ name: 'k' }), { ...record, data: 'x'.repeat(1_000_000) })).toBe(false);
  expect(fits(kinesisSink({ name: 'k' }), { ...record, partitionKey: '' })).toBe(false);
  const event = { bus: 'default', source: 's', detailType: 'd', detail: {} };
  expect(fits(eventbridgeSink({ name: 'e' }), { ...event, time: '2026-01-01T00:00:00Z' })).toBe(true);
  expect(fits(eventbridgeSink({ name: 'e' }), { ...event, time: 'yesterday' })).toBe(false);
  const search = opensearchSink({ name: 's', url: 'http://nowhere' });
  expect(fits(search, { index: 'books', document: {} })).toBe(true);
  expect(fits(search, { index: 'Books', document: {} })).toBe(false);
});

const thrown = (name: string, httpStatusCode?: number, headers: Record<string, string> = {}): Error =>
  Object.assign(new Error('why'), { name, $metadata: { httpStatusCode }, $response: { headers } });

test.each([
  ['ThrottlingException', 400, 'later'],
  ['RequestThrottled', 403, 'later'],
  ['Anything', 503, 'later'],
  ['Anything', 429, 'later'],
  ['ValidationException', 400, 'rejected'],
  ['SomethingNew', 400, 'rejected'],
])('an error %s with status %s is %s', (name, status, expected) => {
  expect(readRefusal(thrown(name, status), {})).toMatchObject({ status: expected });
});

test.each([
  ['AccessDeniedException', 400, 'HaltError'],
  ['SomethingNew', 403, 'HaltError'],
  ['CredentialsProviderError', undefined, 'HaltError'],
  ['InternalFailure', 500, 'InternalFailure'],
  ['ThrottlingException', 200, 'ThrottlingException'],
  ['TimeoutError', undefined, 'TimeoutError'],
])('an error %s with status %s is thrown as %s', (name, status, expected) => {
  expect(() => readRefusal(thrown(name, status), {})).toThrow(expect.objectContaining({ name: expected }));
});

test("a service's own words decide before the status, and Retry-After is read from the answer", () => {
  const own = { later: ['Busy'], halt: ['Gone'], rejected: ['Bad'] };
  expect(readRefusal(thrown('Busy', 400, { 'retry-after': '3' }), own)).toMatchObject({ retryAfterMs: 3_000 });
  expect(readRefusal(thrown('Bad', 404), own)).toMatchObject({ status: 'rejected' });
  expect(() => readRefusal(thrown('Gone', 400), own)).toThrow(expect.objectContaining({ name: 'HaltError' }));
});
