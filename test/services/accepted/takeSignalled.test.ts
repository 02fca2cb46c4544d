import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { TakeAnswer } from '../../../activities/accepted/takeSignalled';
import { takeSignalled } from '../../../activities/accepted/takeSignalled';
import type { CallerDeps } from '../../../activities/calls/carried';
import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';
import type { UnreadRun } from '../../../workflows/planning/unread';
import type { Bench } from '../../workflows/bench';
import { carry, openBench } from '../../workflows/bench';

/**
 * Completions of a monitor's run are taken from one page of its history into a real store; the
 * server here serves events that stand in the test.
 */

const RUN = 'run';
/** More than are settled at once. */
const N = 10;
const ids = Array.from({ length: N }, (_, i) => `job-${i}`);
const jobs: Handler = defineHandler<{ to: string }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 1 },
  linger: { lingerMs: 0 },
  leaders: 1,
  concurrency: { perTarget: 100, perHandler: 1_000 },
  submit: async ({ tasks }) => ({ status: 'accepted', reference: tasks[0]!.id }),
  status: async (references) => references.map((reference) => ({ reference, status: 'pending' })),
  results: () => [],
});

/** A server that has a run with these signals, in one page. */
const serve = (told: readonly object[]): Client => {
  const events = told.map((one, i) => ({
    eventId: i + 1,
    workflowExecutionSignaledEventAttributes: {
      signalName: 'complete',
      input: { payloads: [defaultPayloadConverter.toPayload(one)] },
    },
  }));
  return {
    options: {
      namespace: 'default',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] },
    },
    workflowService: {
      getWorkflowExecutionHistory: () => Promise.resolve({ history: { events }, nextPageToken: Buffer.from('') }),
    },
  } as unknown as Client;
};

let bench: Bench;
let deps: CallerDeps;
beforeAll(async () => {
  bench = await openBench([jobs]);
  await bench.client.submit(
    'jobs',
    ids.map((id) => ({ id, payload: { to: 'a' } })),
  );
  await bench.client['connection'].settled();
  const accepted = async (): Promise<number> =>
    (await bench.database.pool.query('select from batch where reference is not null')).rows.length;
  for (let turn = 1; (await accepted()) < N; turn++) {
    deps = await bench.dispatch(await bench.turn({ runId: 'leader', runStartedAtMs: 1_000 }, turn), jobs);
    await carry(deps);
  }
});
afterAll(() => bench.stop());

const take = (temporal: Client, unread: UnreadRun[]): Promise<TakeAnswer> => {
  const activity = new MockActivityEnvironment({ heartbeatDetails: [] }, { logger: new DefaultLogger('ERROR') });
  const input = { handler: 'jobs', unread, running: { runId: RUN, wanted: N } };
  return activity.run(takeSignalled, { ...deps, temporal }, input);
};
/** Takes all, in as many activities as that needs: one ends after two seconds. */
const takeAll = async (temporal: Client): Promise<Omit<TakeAnswer, 'unread'>> => {
  const all = { completed: 0, repeated: 0, handedOn: 0 };
  let unread: UnreadRun[] = [{ runId: RUN, taken: 0 }];
  while (unread[0]!.taken < N) {
    const answer = await take(temporal, unread);
    ({ unread } = answer);
    all.completed += answer.completed;
    all.repeated += answer.repeated;
    all.handedOn += answer.handedOn;
  }
  return all;
};

test('all completions of a page are taken, each once, and read again they change nothing', async () => {
  const server = serve(ids.map((id) => ({ reference: id, results: [{ id, status: 'ok' }] })));
  expect(await takeAll(server)).toEqual({ completed: N, repeated: 0, handedOn: 0 });
  expect((await bench.client.getTasks(ids)).map(({ state }) => state)).toEqual(ids.map(() => 'succeeded'));
  expect(await takeAll(server)).toEqual({ completed: 0, repeated: N, handedOn: 0 });
});
