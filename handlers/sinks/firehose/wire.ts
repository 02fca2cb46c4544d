import type { HttpWire } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import { awsJsonWire } from '../aws/jsonWire';

interface Body {
  Records: { Data: string }[];
}

/** Returns the wire of PutRecordBatch. Its answers have one entry per record, in the same order. */
export const firehoseWire = (maxItems: number, maxBytes: number): HttpWire =>
  awsJsonWire<Body>({
    target: 'Firehose_20150804.PutRecordBatch',
    version: '1.1',
    maxItems,
    maxBytes,
    verdicts: ['busy', 'omitted'],
    shapes: ['twice', 'foreign'],
    errors: {
      throttled: 'ThrottlingException',
      unavailable: 'ServiceUnavailableException',
      content: 'InvalidArgumentException',
      credentials: 'AccessDeniedException',
      absent: 'ResourceNotFoundException',
    },
    items: ({ Records }) => Records.map(({ Data }) => ({ mark: markIn(Buffer.from(Data, 'base64').toString()) })),
    bytes: ({ Records }) => Records.reduce((sum, { Data }) => sum + Buffer.byteLength(Data, 'base64'), 0),
    answer: (items) => ({
      FailedPutCount: items.filter(({ verdict }) => verdict === 'busy').length,
      RequestResponses: items
        .filter(({ verdict }) => verdict !== 'omitted')
        .map(({ verdict, place }) =>
          verdict === 'ok'
            ? { RecordId: `record-${place}` }
            : { ErrorCode: 'ServiceUnavailableException', ErrorMessage: 'told so' },
        ),
    }),
  });
