import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import type { temporal as protos } from '@temporalio/proto';
import fc from 'fast-check';
import { leftUnread, readSignals } from '../../../activities/accepted/signalHistory';
import type { UnreadRun } from '../../../workflows/planning/unread';

/**
 * What is read from the history of a monitor's run, event by event. The server here serves events
 * that stand in the test, in pages, as the real one does; `monitorSignal.test.ts` has the real one.
 */

type Event = protos.api.history.v1.IHistoryEvent;
const RUN = 'run';
const ID = 'muster/monitor/jobs';
const payloads = (value: unknown): { payloads: Payload[] } => ({
  payloads: [defaultPayloadConverter.toPayload(value)],
});
const garbled = { payloads: [{ metadata: { encoding: Buffer.from('binary/unknown') }, data: Buffer.from('x') }] };

const started = (input?: unknown): Event => ({
  workflowExecutionStartedEventAttributes: input === undefined ? {} : { input: payloads(input) },
});
const startedGarbled: Event = { workflowExecutionStartedEventAttributes: { input: garbled } };
const signalled = (told: unknown, signalName = 'complete'): Event => ({
  workflowExecutionSignaledEventAttributes: { signalName, input: payloads(told) },
});
const asked = (name = 'takeSignalled'): Event => ({ activityTaskScheduledEventAttributes: { activityType: { name } } });
const answered = (scheduledEventId: number, result: unknown): Event => ({
  activityTaskCompletedEventAttributes: { scheduledEventId: scheduledEventId as never, result: payloads(result) },
});
const failure = (code: number): Error => Object.assign(new Error(`code ${code}`), { code });
const RESOURCE_EXHAUSTED = 8;
const NOT_FOUND = 5;
const INVALID_ARGUMENT = 3;

interface Server {
  temporal: Client;
  /** Of each page that was asked for. */
  sizes: number[];
}
/** `refuse`: what a page of that size, from that token, is refused with. */
const serve = (
  events: readonly Event[],
  {
    pageSize = 50,
    refuse = () => null,
  }: { pageSize?: number; refuse?: (size: number, token: string) => number | null } = {},
): Server => {
  const sizes: number[] = [];
  const numbered = events.map((event, i) => ({ ...event, eventId: (i + 1) as never }));
  const temporal = {
    options: {
      namespace: 'default',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] },
    },
    workflowService: {
      getWorkflowExecutionHistory: async ({
        maximumPageSize,
        nextPageToken,
      }: {
        maximumPageSize: number;
        nextPageToken?: Buffer;
      }) => {
        sizes.push(maximumPageSize);
        const token = (nextPageToken ?? Buffer.from('')).toString();
        const code = refuse(maximumPageSize, token);
        if (code !== null) throw failure(code);
        const from = Number(token);
        const to = from + Math.min(pageSize, maximumPageSize);
        return {
          history: { events: numbered.slice(from, to) },
          nextPageToken: to < numbered.length ? Buffer.from(String(to)) : Buffer.from(''),
        };
      },
    },
  };
  return { temporal: temporal as unknown as Client, sizes };
};
const earlier: UnreadRun = { runId: 'earlier', taken: 3 };
const own = (taken: number): UnreadRun => ({ runId: RUN, taken });

describe('what an ended run left unread', () => {
  test.each<[string, Event[], UnreadRun[]]>([
    ['it was given nothing, and nothing was read', [started(), signalled(1), signalled(2)], [own(0)]],
    ['what it was given', [started({ handler: 'jobs', unread: [earlier] })], [earlier, own(0)]],
    ['the activity did not end', [started({ unread: [earlier] }), asked()], [earlier, own(0)]],
    ['what its activity took', [started(), asked(), signalled(1), answered(2, { unread: [own(1)] })], [own(1)]],
    [
      'the last answer counts',
      [
        started({ unread: [earlier] }),
        asked(),
        answered(2, { unread: [earlier, own(4)] }),
        asked(),
        answered(4, { unread: [own(9)] }),
      ],
      [own(9)],
    ],
    [
      'an answer that comes after another one was asked for',
      [started(), asked(), asked(), answered(2, { unread: [own(2)] })],
      [own(2)],
    ],
    [
      'what another activity answers is none of it',
      [started(), asked('pollAccepted'), answered(2, { unread: [own(7)] })],
      [own(0)],
    ],
    [
      'earlier runs were read to their ends',
      [started({ unread: [earlier] }), asked(), answered(2, { unread: [] })],
      [own(0)],
    ],
    ['an input that cannot be read', [startedGarbled, signalled(1)], [own(0)]],
    ['an input of anybody', [started({ unread: [{ runId: 4 }, 'x'] })], [own(0)]],
    ['no history at all', [], [own(0)]],
  ])('%s', async (_, events, unread) => {
    for (const pageSize of [1, 2, 50])
      expect(await leftUnread(serve(events, { pageSize }).temporal, ID, RUN)).toEqual(unread);
  });

  test('a history whose retention is over has none of it, and all of its own', async () => {
    expect(await leftUnread(serve([started()], { refuse: () => NOT_FOUND }).temporal, ID, RUN)).toEqual([own(0)]);
  });

  test('a page that is too large is asked for in smaller ones; other failures are told', async () => {
    const events = [started({ unread: [earlier] }), signalled(1), asked(), answered(3, { unread: [own(1)] })];
    const narrow = serve(events, { refuse: (size) => (size > 2 ? RESOURCE_EXHAUSTED : null) });
    expect(await leftUnread(narrow.temporal, ID, RUN)).toEqual([own(1)]);
    expect(narrow.sizes).toEqual([50, 10, 2, 50, 10, 2]);
    await expect(leftUnread(serve(events, { refuse: () => RESOURCE_EXHAUSTED }).temporal, ID, RUN)).rejects.toThrow(
      'code 8',
    );
    await expect(leftUnread(serve(events, { refuse: () => 14 }).temporal, ID, RUN)).rejects.toThrow('code 14');
  });
});

describe('the completions of a run', () => {
  const read = async (
    server: Server,
    run: UnreadRun,
    wanted: number | null,
  ): Promise<{ told: unknown[]; last: UnreadRun }> => {
    const told: unknown[] = [];
    let last = run;
    for await (const { signals, seen, at, next } of readSignals(server.temporal, ID, run, wanted)) {
      told.push(...signals.map((one) => one.told));
      const from = next ?? at;
      last = { runId: run.runId, taken: Math.max(last.taken, seen), ...(from === undefined ? {} : { at: from }) };
    }
    return { told, last };
  };
  const history = (isSignal: readonly boolean[]): Event[] =>
    isSignal.map((is, i) => (is ? signalled(i) : i % 2 === 0 ? asked() : signalled(i, 'look')));

  test('all behind those that were taken, in their order, however paged and wherever broken off', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { maxLength: 30 }),
        fc.integer({ min: 1, max: 7 }),
        fc.nat(30),
        fc.nat(30),
        async (isSignal, pageSize, before, wantedThen) => {
          const all = isSignal.flatMap((is, i) => (is ? [i] : []));
          const taken = Math.min(before, all.length);
          const whole = serve(history(isSignal), { pageSize });
          expect((await read(whole, { runId: RUN, taken }, null)).told).toEqual(all.slice(taken));
          // The run goes on: first the history as it was when fewer had come.
          const wanted = Math.min(wantedThen, all.length);
          const then = serve(history(isSignal.slice(0, wanted === 0 ? 0 : all[wanted - 1]! + 1)), { pageSize });
          const first = await read(then, { runId: RUN, taken: 0 }, wanted);
          expect(first.told).toEqual(all.slice(0, wanted));
          const rest = await read(whole, first.last, all.length);
          expect([...first.told, ...rest.told]).toEqual(all);
        },
      ),
    );
  });

  test('a place that the server does not know any more: from the beginning, and nothing twice', async () => {
    const events = history([true, true, false, true]);
    const server = serve(events, { refuse: (_, token) => (token === 'gone' ? INVALID_ARGUMENT : null) });
    const at = { token: Buffer.from('gone').toString('base64'), after: 1 };
    expect((await read(server, { runId: RUN, taken: 2, at }, null)).told).toEqual([3]);
    await expect(
      read(serve(events, { refuse: () => INVALID_ARGUMENT }), { runId: RUN, taken: 0 }, null),
    ).rejects.toThrow('code 3');
  });

  test('what cannot be read comes as a marker in its place', async () => {
    const events: Event[] = [
      signalled(1),
      { workflowExecutionSignaledEventAttributes: { signalName: 'complete', input: garbled } },
      signalled(3),
    ];
    const { told } = await read(serve(events), { runId: RUN, taken: 0 }, null);
    expect(told).toEqual([1, { musterUnreadable: expect.any(String), encoding: 'binary/unknown' }, 3]);
  });
});
