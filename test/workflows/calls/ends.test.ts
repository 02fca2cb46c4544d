import { QueueHome } from '../../../activities/calls/queueHome';
import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';
import type { EndedTasks } from '../../../handlers/hooks/types';
import type { Bench } from '../bench';
import { carry, openBench } from '../bench';

/** Which ends of tasks a settlement tells those who observe them. */

type Wish = 'ok' | 'failed';
/** What happens during the call. */
let meanwhile: () => Promise<unknown>;
const jobs: Handler = defineHandler<{ to: string; as: Wish }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  leaders: 1,
  submit: async ({ tasks }) => {
    await meanwhile();
    return {
      results: tasks.map(({ id, payload: { as } }) => ({ id, status: as, ...(as === 'ok' ? {} : { error: 'no' }) })),
    };
  },
});

let bench: Bench;
const told: EndedTasks[] = [];
beforeEach(async () => {
  meanwhile = () => Promise.resolve();
  told.splice(0);
  bench = await openBench([jobs]);
});
afterEach(() => bench.stop());

/** Sends one batch with these tasks; what was told of their ends. */
const send = async (wishes: Readonly<Record<string, Wish>>, observesEnds = true): Promise<EndedTasks[]> => {
  await bench.client.submit(
    'jobs',
    Object.entries(wishes).map(([id, as]) => ({ id, payload: { to: 'a', as } })),
  );
  await bench.client['connection'].settled();
  const deps = await bench.dispatch(await bench.turn({ runId: 'run', runStartedAtMs: 1_000 }, 1), jobs);
  const hooks = { observesEnds, ended: (events: readonly EndedTasks[]) => void told.push(...events) };
  await carry({ ...deps, home: new QueueHome(deps.pool, { hooks }) });
  return told;
};

test.each<[string, Record<string, Wish>, { id: string; state: string; error: string | null }[]]>([
  [
    'of a batch that succeeded as a whole',
    { a: 'ok', b: 'ok' },
    [
      { id: 'a', state: 'succeeded', error: null },
      { id: 'b', state: 'succeeded', error: null },
    ],
  ],
  [
    'of one of which a task failed',
    { a: 'ok', b: 'failed' },
    [
      { id: 'a', state: 'succeeded', error: null },
      { id: 'b', state: 'failed', error: 'no' },
    ],
  ],
])('each end %s is told, with its call', async (_, wishes, tasks) => {
  const [event, ...more] = await send(wishes);
  expect(more).toEqual([]);
  expect(event).toMatchObject({ handler: 'jobs', target: 'a', attempt: 1 });
  expect([...event!.tasks].sort((one, other) => (one.id < other.id ? -1 : 1))).toEqual(tasks);
});

test.each<[string, Wish]>([
  ['of a success', 'ok'],
  ['of a failure', 'failed'],
])('an end %s that was not committed, since a newer attempt exists, is not told', async (_, as) => {
  meanwhile = () => bench.database.pool.query('update batch set attempt = attempt + 1');
  expect(await send({ a: as })).toEqual([]);
});

test('where nobody observes ends none is told', async () => {
  expect(await send({ a: 'ok' }, false)).toEqual([]);
  expect((await bench.client.getTask('a'))!.state).toBe('succeeded');
});
