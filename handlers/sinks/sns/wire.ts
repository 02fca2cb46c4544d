import type { JudgedItem, Refusal, HttpWire, WireAnswer, WireItem } from '../../trials/trial';
import { markIn } from '../../trials/trial';

const XML = { 'content-type': 'text/xml' };
const FIELD = /^PublishBatchRequestEntries\.member\.(\d+)\.(\w+)$/;
const STATUS_AND_CODE: Readonly<Record<Refusal, readonly [number, string]>> = {
  throttled: [400, 'Throttled'],
  unavailable: [503, 'ServiceUnavailable'],
  content: [400, 'BatchRequestTooLong'],
  credentials: [403, 'InvalidClientTokenId'],
  absent: [404, 'NotFound'],
};

/** The fields of each entry, by its number in the form. */
function entriesOf(body: Buffer): Map<string, string>[] {
  const entries = new Map<number, Map<string, string>>();
  for (const [name, value] of new URLSearchParams(body.toString())) {
    const [, number, field] = FIELD.exec(name) ?? [];
    if (number === undefined) continue;
    const entry = entries.get(Number(number)) ?? new Map<string, string>();
    entries.set(Number(number), entry.set(field!, value));
  }
  return [...entries].sort(([a], [b]) => a - b).map(([, entry]) => entry);
}

/** Returns the wire of PublishBatch: a form, answered in XML. */
export const snsWire = (maxItems: number, maxBytes: number): HttpWire => ({
  maxItems,
  maxBytes,
  verdicts: ['busy', 'refused', 'omitted'],
  shapes: ['reversed', 'twice', 'foreign'],
  refusals: Object.keys(STATUS_AND_CODE) as Refusal[],
  read: ({ body }) => {
    const entries = entriesOf(body);
    const items = entries.map((entry): WireItem => ({
      mark: markIn(entry.get('Message') ?? ''),
      key: entry.get('MessageDeduplicationId'),
    }));
    const bytes = entries.reduce((sum, entry) => sum + Buffer.byteLength(entry.get('Message') ?? ''), 0);
    return { kind: 'call', items, bytes };
  },
  answer: (items, { body }) => answerOf(items, entriesOf(body)),
  refuse: (refusal) => {
    const [status, code] = STATUS_AND_CODE[refusal];
    const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>told so</Message></Error>`;
    return { status, headers: XML, body: `<ErrorResponse>${error}<RequestId>r</RequestId></ErrorResponse>` };
  },
});

function answerOf(items: readonly JudgedItem[], entries: readonly Map<string, string>[]): WireAnswer {
  const idOf = ({ place }: JudgedItem): string => `<Id>${entries[place]?.get('Id') ?? String(place)}</Id>`;
  const members = (of: readonly JudgedItem[], text: (item: JudgedItem) => string): string =>
    of.map((item) => `<member>${idOf(item)}${text(item)}</member>`).join('');
  const sent = items.filter(({ verdict }) => verdict === 'ok');
  const failed = items.filter(({ verdict }) => verdict === 'busy' || verdict === 'refused');
  const successful = members(sent, ({ place }) => `<MessageId>message-${place}</MessageId>`);
  const failures = members(
    failed,
    ({ verdict }) => `<Code>InternalError</Code><SenderFault>${verdict === 'refused'}</SenderFault>`,
  );
  const result = `<Successful>${successful}</Successful><Failed>${failures}</Failed>`;
  return {
    status: 200,
    headers: XML,
    body: `<PublishBatchResponse><PublishBatchResult>${result}</PublishBatchResult></PublishBatchResponse>`,
  };
}
