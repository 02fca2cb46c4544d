import type * as Sdk from '@aws-sdk/client-eventbridge';
import { z } from 'zod';
import type { Batch, CallContext, ItemResult, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import { HaltError } from '../../errors';
import type { Trial } from '../../trials/trial';
import type { Handler } from '../../types';
import type { AwsOptions } from '../aws/client';
import { AwsCaller, LOCAL_AWS } from '../aws/client';
import { placedResults } from '../aws/places';
import { readRefusal } from '../aws/refusal';
import type { SinkOptions, UnknownOptions } from '../options';
import { settingsOf } from '../options';
import { eventBytes } from './size';
import { eventbridgeWire } from './wire';

export type { AwsCredentials, AwsOptions } from '../aws/client';
export type { SinkOptions, UnknownOptions } from '../options';

/** An event for a bus. */
export interface BridgeEvent {
  /** The name or ARN of the event bus, which is the target. */
  bus: string;
  source: string;
  detailType: string;
  /** Sent as JSON. */
  detail: Record<string, unknown>;
  resources?: string[];
  /** When it happened: ISO text. Default: when EventBridge receives it. */
  time?: string;
}

/** Options of `eventbridgeSink`. */
export interface EventbridgeSinkOptions extends SinkOptions, UnknownOptions, AwsOptions<Sdk.EventBridgeClient> {}

/**
 * docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html: 10 entries. The size, of
 * all of them together, must be less than 256 KB: .../userguide/eb-putevent-size.html
 */
const EVENTS_MAX = 10;
const BYTES_MAX = 256_000;

const ERRORS = { halt: ['ResourceNotFoundException'] };

/** Errors of an entry that another attempt does not mend; API_PutEvents.html, "Errors". */
const LASTING = new Set([
  'AccessDeniedException',
  'InvalidAccountIdException',
  'InvalidArgument',
  'MalformedDetail',
  'NotAuthorizedForDetailTypeException',
  'NotAuthorizedForSourceException',
  'RedactionFailure',
]);
/** Those of them that an operator mends, and that each event of the bus gets. */
const OF_OPERATOR = new Set(['AccessDeniedException', 'InvalidAccountIdException']);

const schema: z.ZodType<BridgeEvent, BridgeEvent> = z.strictObject({
  bus: z.string().min(1).max(512),
  source: z.string().min(1).max(256),
  detailType: z.string().min(1).max(128),
  detail: z.record(z.string(), z.unknown()),
  resources: z.array(z.string().max(2_048)).max(20).optional(),
  time: z.iso.datetime({ offset: true }).optional(),
});

const bytesOf = ({ source, detailType, detail, resources, time }: BridgeEvent): number =>
  eventBytes({
    Source: source,
    DetailType: detailType,
    Detail: JSON.stringify(detail),
    Resources: resources,
    Time: time,
  });

/**
 * Returns a handler that sends events with PutEvents, ten per call. EventBridge knows no
 * idempotency key: consumers tell doubles by an id in the detail. Needs
 * `@aws-sdk/client-eventbridge`.
 */
export function eventbridgeSink(options: EventbridgeSinkOptions): Handler<BridgeEvent> {
  const caller = new AwsCaller(
    {
      sink: 'the EventBridge sink',
      packageName: '@aws-sdk/client-eventbridge',
      load: () => import('@aws-sdk/client-eventbridge'),
      create: (sdk, settings) => new sdk.EventBridgeClient(settings),
    },
    options,
  );
  return defineHandler<BridgeEvent>({
    description: 'EventBridge PutEvents',
    ...settingsOf(options),
    schema,
    target: ({ bus }) => bus,
    bytesOf,
    limits: { maxItems: EVENTS_MAX, maxBytes: BYTES_MAX },
    onUnknown: options.onUnknown,
    submit: async (batch, context) => send(await caller.open(), batch, context),
    trial: () => trialOf(options),
  });
}

const trialOf = (options: EventbridgeSinkOptions): Trial<Handler> => ({
  at: (endpoint) => eventbridgeSink({ ...options, ...LOCAL_AWS, client: undefined, endpoint }),
  payload: (text) => ({ bus: 'certified', source: 'muster', detailType: 'certified', detail: { text } }),
  wire: () => eventbridgeWire(EVENTS_MAX, BYTES_MAX),
});

async function send(
  { sdk, client }: { sdk: typeof Sdk; client: Sdk.EventBridgeClient },
  { target, tasks }: Batch<BridgeEvent>,
  { signal }: CallContext,
): Promise<SubmitAnswer> {
  const entries = tasks.map(({ payload: { source, detailType, detail, resources, time } }) => ({
    EventBusName: target,
    Source: source,
    DetailType: detailType,
    Detail: JSON.stringify(detail),
    Resources: resources,
    Time: time === undefined ? undefined : new Date(time),
  }));
  try {
    const { Entries } = await client.send(new sdk.PutEventsCommand({ Entries: entries }), { abortSignal: signal });
    const results = placedResults(
      Entries,
      tasks.length,
      ({ EventId }) => ({ eventId: EventId }),
      (code) => LASTING.has(code),
    );
    return { results: haltingAt(results, Entries) };
  } catch (thrown) {
    return readRefusal(thrown, ERRORS);
  }
}

/** Returns the results. Throws `HaltError` if an operator has to act before any event is taken. */
function haltingAt(results: ItemResult[], entries: readonly { ErrorCode?: string }[] | undefined): ItemResult[] {
  const isClosed = entries?.every(({ ErrorCode }) => OF_OPERATOR.has(ErrorCode ?? ''));
  if (isClosed === true) throw new HaltError(results[0]?.error);
  return results;
}
