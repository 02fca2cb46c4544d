import type { WriteRequest } from '@aws-sdk/client-dynamodb';
import type { HttpWire } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import { awsJsonWire } from '../aws/jsonWire';
import { keyText } from './write';

interface Body {
  RequestItems: Record<string, WriteRequest[]>;
}

/** Returns the wire of BatchWriteItem, whose answers name what was not done, and nothing else. */
export const dynamodbWire = (keyAttributes: readonly string[], maxItems: number, maxBytes: number): HttpWire =>
  awsJsonWire<Body>({
    target: 'DynamoDB_20120810.BatchWriteItem',
    version: '1.0',
    maxItems,
    maxBytes,
    verdicts: ['busy'],
    shapes: ['foreign'],
    errors: {
      throttled: 'ProvisionedThroughputExceededException',
      unavailable: 'ServiceUnavailable',
      content: 'ValidationException',
      credentials: 'UnrecognizedClientException',
      absent: 'ResourceNotFoundException',
    },
    items: ({ RequestItems }) =>
      Object.values(RequestItems)
        .flat()
        .map((request) => ({ mark: markIn(JSON.stringify(request)), key: keyText(request, keyAttributes) })),
    bytes: (body) => Buffer.byteLength(JSON.stringify(body)),
    answer: (items, { RequestItems }) => {
      const [[table, requests] = ['', []]] = Object.entries(RequestItems);
      const foreign = { DeleteRequest: { Key: Object.fromEntries(keyAttributes.map((name) => [name, { S: 'no' }])) } };
      const left = items.flatMap(({ verdict, place }) => {
        const request = requests[place];
        if (request === undefined) return [foreign];
        return verdict === 'busy' ? [request] : [];
      });
      return { UnprocessedItems: left.length === 0 ? {} : { [table]: left } };
    },
  });
