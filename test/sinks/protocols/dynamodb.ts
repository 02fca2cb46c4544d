import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { CreateTableCommand, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { dynamodbSink } from '../../../handlers/sinks/dynamodb';
import type { At } from './sent';
import { OK, sent, ten } from './sent';

/** Tests the sink of DynamoDB against a server, which `at` gives once it has started. */
export const testDynamoDb = (at: () => At): void => {
  let client: DynamoDBClient;
  const scan = async (): Promise<Record<string, AttributeValue>[]> =>
    (await client.send(new ScanCommand({ TableName: 'cities' }))).Items ?? [];
  beforeAll(async () => {
    client = new DynamoDBClient(at());
    const create = new CreateTableCommand({
      TableName: 'cities',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    await client.send(create);
  });
  afterAll(() => client.destroy());

  test('puts and deletes items of all kinds of JSON; the same batch again changes nothing', async () => {
    const handler = dynamodbSink({ name: 'dynamodb', keyAttributes: ['pk'], ...at() });
    const item = (n: number) => ({ pk: `city-${n}`, n, big: true, none: null, list: [1, 'a'], map: { ä: '€' } });
    const puts = ten((n) => ({ table: 'cities', put: item(n) }));
    expect([await sent(handler, puts), await sent(handler, puts)]).toEqual([OK, OK]);
    const stored = await scan();
    expect(stored).toHaveLength(10);
    expect(stored.find(({ pk }) => pk?.S === 'city-3')).toEqual({
      pk: { S: 'city-3' },
      n: { N: '3' },
      big: { BOOL: true },
      none: { NULL: true },
      list: { L: [{ N: '1' }, { S: 'a' }] },
      map: { M: { ä: { S: '€' } } },
    });
    const deletes = ten((n) => ({ table: 'cities', delete: { pk: `city-${n}` } }));
    expect(await sent(handler, deletes.slice(0, 4))).toEqual(OK);
    expect(await scan()).toHaveLength(6);
  });

  test('an absent table halts, and an item that is refused rejects its call', async () => {
    const handler = dynamodbSink({ name: 'dynamodb', keyAttributes: ['pk'], ...at() });
    const absent = [{ table: 'absent', put: { pk: 'x' } }];
    expect(await sent(handler, absent)).toMatchObject({ kind: 'halted' });
    const empty = [{ table: 'cities', put: { pk: '' } }];
    expect(await sent(handler, empty)).toMatchObject({ kind: 'rejected' });
  });
};
