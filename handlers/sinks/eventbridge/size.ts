/** An entry of PutEvents, as far as its size goes. */
export interface SizedEvent {
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
  readonly Resources?: readonly string[];
  readonly Time?: unknown;
}

const TIME_BYTES = 14;

/**
 * Returns the bytes of an entry as EventBridge counts them: source, detail type, detail, resources,
 * and 14 for a time. docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
 */
export const eventBytes = ({ Source, DetailType, Detail, Resources = [], Time }: SizedEvent): number =>
  [Source, DetailType, Detail, ...Resources].reduce(
    (sum, text) => sum + Buffer.byteLength(text),
    Time === undefined ? 0 : TIME_BYTES,
  );
