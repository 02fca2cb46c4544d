import type { HttpWire } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import { awsJsonWire } from '../aws/jsonWire';

interface Body {
  Records: { Data: string; PartitionKey: string }[];
}

/** Returns the wire of PutRecords. Its answers have one entry per record, in the same order. */
export const kinesisWire = (maxItems: number, maxBytes: number): HttpWire =>
  awsJsonWire<Body>({
    target: 'Kinesis_20131202.PutRecords',
    version: '1.1',
    maxItems,
    maxBytes,
    verdicts: ['busy', 'omitted'],
    shapes: ['twice', 'foreign'],
    errors: {
      throttled: 'ProvisionedThroughputExceededException',
      unavailable: 'ServiceUnavailable',
      content: 'InvalidArgumentException',
      credentials: 'AccessDeniedException',
      absent: 'ResourceNotFoundException',
    },
    items: ({ Records }) => Records.map(({ Data }) => ({ mark: markIn(Buffer.from(Data, 'base64').toString()) })),
    bytes: ({ Records }) =>
      Records.reduce(
        (sum, { Data, PartitionKey }) => sum + Buffer.byteLength(Data, 'base64') + Buffer.byteLength(PartitionKey),
        0,
      ),
    answer: (items) => ({
      FailedRecordCount: items.filter(({ verdict }) => verdict === 'busy').length,
      Records: items
        .filter(({ verdict }) => verdict !== 'omitted')
        .map(({ verdict, place }) =>
          verdict === 'ok'
            ? { ShardId: 'shardId-0', SequenceNumber: String(place) }
            : { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'told so' },
        ),
    }),
  });
