import { batches } from '../../../postgres/invariants/batches';
import { executions } from '../../../postgres/invariants/executions';
import { flow } from '../../../postgres/invariants/flow';
import type { Invariant } from '../../../postgres/invariants/invariant';
import { UNANSWERED_MS } from '../../../workflows/planning/liveness';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** What breaks an invariant is found, and what just does not break it is not. */

let rows: Rows;
let place: Place;
beforeAll(async () => {
  rows = await Rows.open();
  place = await rows.place('jobs');
  // Of what only a worker can keep up, nothing is broken while there is none.
  await rows.insert('node', { id: 'n', task_queue: 'q', started_at: at(-3_600_000), seen_at: at(3_600_000) });
});
afterAll(() => rows.close());

const HOLDS: object[] = [];
const find = (all: readonly Invariant[], name: string): Promise<Record<string, unknown>[]> =>
  rows.query(all.find((one) => one.name === name)!.text);

describe('attempts are at least those that count', () => {
  const found = () => find(batches, 'attempts are at least those that count');
  afterEach(() => rows.query('delete from batch'));

  test.each([
    ['none was made', {}],
    ['none counts', { attempt: 2, started_at: at(0) }],
    ['each counts', { attempt: 2, counted: 2, started_at: at(0) }],
    ['the first call is under way', { attempt: 1, started_at: at(0), attempt_until: at(0) }],
  ])('whole: %s', async (_, columns) => {
    await rows.batch(place, columns);
    expect(await found()).toEqual(HOLDS);
  });

  test.each([
    ['more count than were made', { attempt: 1, counted: 2, started_at: at(0) }],
    ['fewer count than none', { counted: -1 }],
    ['one was made and none was started', { attempt: 1 }],
    ['a call is under way and none was made', { attempt_until: at(0) }],
  ])('broken: %s', async (_, columns) => {
    await rows.batch(place);
    const batch = await rows.batch(place, columns);
    expect(await found()).toMatchObject([{ batch }]);
  });
});

describe('an execution counts its items by state', () => {
  const ID = '7d2f1a10-1111-4222-8333-444455556666';
  const found = () => find(executions, 'an execution counts its items by state');
  /** One item in each state that an item can have, and one more in progress. */
  const STATES = [0, 1, 1, 100, -1, -2];
  beforeAll(async () => {
    const counts = { items: 6, n_created: 1, n_running: 2, n_done: 1, n_failed: 1, n_dead: 1 };
    const rest = { function_id: 'f', method: 'm', config: '{}', created_at: at(0), started_at: at(0) };
    await rows.insert('execution', { id: ID, state: 1, ...rest, ...counts });
    for (const [position, state] of STATES.entries())
      await rows.insert('work_item', {
        execution_id: ID,
        position,
        state,
        content_id: ID,
        copy: position + 1,
        chunk_id: state === 0 ? null : ID,
        arguments: '[]',
      });
  });

  test('whole: as many as there are', async () => {
    expect(await found()).toEqual(HOLDS);
  });

  test.each([
    ['n_created', 'n_running'],
    ['n_running', 'n_done'],
    ['n_done', 'n_failed'],
    ['n_failed', 'n_dead'],
    ['n_dead', 'n_created'],
  ])('broken: one more is counted as %s, and one less as %s', async (more, less) => {
    const move = (up: string, down: string) =>
      rows.query(`update execution set ${up} = ${up} + 1, ${down} = ${down} - 1`);
    await move(more, less);
    expect(await found()).toMatchObject([{ execution: ID, items: 6, found: 6 }]);
    await move(less, more);
    expect(await found()).toEqual(HOLDS);
  });

  test('broken: an item is gone', async () => {
    await rows.query('update execution set items = items + 1, n_created = n_created + 1');
    expect(await found()).toMatchObject([{ execution: ID, items: 7, found: 6 }]);
    await rows.query('update execution set items = items - 1, n_created = n_created - 1');
    expect(await found()).toEqual(HOLDS);
  });
});

describe('a woken leader takes a turn', () => {
  const found = () => find(flow, 'a woken leader takes a turn');
  const [soon, late] = [UNANSWERED_MS - 15_000, UNANSWERED_MS + 5_000];
  const awake = async (state: number, agoMs: number | null): Promise<void> => {
    await rows.query(
      `update leader set state = $1::int, wake_at = case when $1::int = 2 then clock() end, expires_at = clock(),
         woken_at = clock() - $2 * interval '1 ms'`,
      [state, agoMs],
    );
  };

  test.each([
    ['it was woken a while ago', 1, soon],
    ['it was not woken', 1, null],
    ['it waits again', 2, late],
    ['it rests again', 0, late],
  ])('whole: %s', async (_, state, agoMs) => {
    await awake(state, agoMs);
    expect(await found()).toEqual(HOLDS);
  });

  test('broken: it was woken long ago, and took none', async () => {
    await awake(1, late);
    expect(await found()).toMatchObject([{ handler: 'jobs', leader: '0' }]);
  });

  test('whole: there is no worker that could take it', async () => {
    await awake(1, late);
    await rows.query('update node set started_at = clock()');
    expect(await found()).toEqual(HOLDS);
    await rows.query(`update node set started_at = clock() - interval '1 hour'`);
    expect(await found()).not.toEqual(HOLDS);
  });
});
