import type { HttpWire } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import { awsJsonWire } from '../aws/jsonWire';

interface Body {
  Entries: { Source: string; DetailType: string; Detail: string }[];
}

const ERROR = { busy: 'InternalFailure', refused: 'MalformedDetail' } as const;

/** Returns the wire of PutEvents. Its answers have one entry per event, in the same order. */
export const eventbridgeWire = (maxItems: number, maxBytes: number): HttpWire =>
  awsJsonWire<Body>({
    target: 'AWSEvents.PutEvents',
    version: '1.1',
    maxItems,
    maxBytes,
    verdicts: ['busy', 'refused', 'omitted'],
    shapes: ['twice', 'foreign'],
    errors: {
      throttled: 'ThrottlingException',
      unavailable: 'ServiceUnavailable',
      content: 'ValidationException',
      credentials: 'AccessDeniedException',
      absent: 'ResourceNotFoundException',
    },
    items: ({ Entries }) => Entries.map(({ Detail }) => ({ mark: markIn(Detail) })),
    bytes: ({ Entries }) =>
      Entries.reduce(
        (sum, { Source, DetailType, Detail }) => sum + Buffer.byteLength(`${Source}${DetailType}${Detail}`),
        0,
      ),
    answer: (items) => ({
      FailedEntryCount: items.filter(({ verdict }) => verdict === 'busy' || verdict === 'refused').length,
      Entries: items.flatMap(({ verdict, place }): object[] => {
        if (verdict === 'omitted') return [];
        return verdict === 'ok'
          ? [{ EventId: `event-${place}` }]
          : [{ ErrorCode: ERROR[verdict], ErrorMessage: 'told so' }];
      }),
    }),
  });
