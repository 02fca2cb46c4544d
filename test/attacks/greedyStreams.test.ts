import { setTimeout } from 'node:timers/promises';
import { revokeToken } from '../../postgres/api/token';
import type { Followed } from '../api/events';
import { follow } from '../api/events';
import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { Tally } from './tally';

/** Callers who watch too much, or longer than they may. @slow */

const tally = new Tally('HTTP API: greedy and revoked streams');
const WATCHERS = rounds(100, 500);
/** A revoked token is refused after two seconds, and those who wait are asked every second. */
const REVOKED_MS = 5_000;

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ open: false, limits: { maxWaiting: 600, perCaller: { maxWaiting: 500 } } });
});
afterAll(() => world.stop());

/** Looks of each of the watchers would be ten times as many. */
const MOST_PER_SECOND = 20;
const WINDOW_MS = 3_000;
const WINDOWS = 6;
const AGAIN_MS = 200;

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** Calls of a statement by name's text so far, in the database of this file. */
const statements = async (): Promise<number> => {
  const { rows } = await world.database.pool.query<{ n: number }>(
    `select (xact_commit + xact_rollback)::int as n from pg_stat_database where datname = current_database()`,
  );
  return rows[0]!.n;
};

const watchable = async (token: string): Promise<Record<string, string>> => {
  const fanout = (await world.call('POST /v1/fanouts', { body: {}, token })).body.id as string;
  await world.call(`POST /v1/fanouts/${fanout}/items`, { body: { items: 1 }, token });
  await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('se', 'watched') }, token });
  return {
    'events of a fan-out': `/v1/fanouts/${fanout}/events`,
    'waits for a fan-out': `/v1/fanouts/${fanout}?wait=60`,
    'waits for a task': '/v1/tasks/watched?wait=60',
    'events of a handler': '/v1/handlers/items/events',
  };
};

/** Streams and long polls that are open. */
const waiting = async (token: string): Promise<number> => {
  const { status, text } = await world.call('GET /metrics', { token });
  // While hundreds begin to wait it may be told to come again: unknown.
  return status === 200 ? Number(/muster_api_open_requests\{kind="waiting"\} (\d+)/.exec(text)![1]) : NaN;
};

test(`${WATCHERS} who watch the same ask the database as often as one`, async () => {
  const token = await world.token('submit', 'read', 'metrics');
  for (const [what, path] of Object.entries(await watchable(token))) {
    const leaving = new AbortController();
    // Kept: a stream whose answer is collected as garbage is closed.
    const open: Response[] = [];
    const ask = () => fetch(`${world.api.url}${path}`, { headers: bearer(token), signal: leaving.signal });
    const watch = async (): Promise<void> => {
      // So many first looks at once may find the database busy: they come again.
      if (!path.includes('events')) return void askAgain(ask, leaving.signal);
      open.push(
        await eventually(async () => {
          const answer = await ask();
          return answer.status === 200 && answer;
        }),
      );
    };
    await Promise.all(Array.from({ length: WATCHERS }, watch));
    const gauge = () => waiting(token);
    await eventually(async () => (await gauge()) === WATCHERS, {
      what: async () => `${WATCHERS} ${what}; there are ${await gauge()}`,
    });
    if (path.includes('events')) expect(open).toHaveLength(WATCHERS);
    // The first look of each is over; those that follow are shared.
    // An idle session reports what it did up to 10 s later: a window with that is taken again.
    let perSecond = Infinity;
    for (let window = 0; window < WINDOWS && perSecond >= MOST_PER_SECOND; window++) {
      const before = await statements();
      await stillFor(WINDOW_MS);
      perSecond = ((await statements()) - before) / (WINDOW_MS / 1_000);
    }
    // Two looks a second, the tokens, what this test asks; not a look of each.
    tally.add(`${WATCHERS} ${what}`, perSecond < MOST_PER_SECOND ? null : `${perSecond} transactions per second`);
    leaving.abort();
    await eventually(async () => (await gauge()) === 0, { what: async () => `no ${what}; there are ${await gauge()}` });
  }
  tally.expectNoneThrough(4);
});

test(`${WATCHERS} who wait for one execution with a megabyte of settings get it by a few reads`, async () => {
  const token = await world.token('submit', 'read', 'metrics');
  const body = { template: { function_id: 'f', method: 'm' }, arguments: [['a']] };
  const { request_id: id } = (await world.call('POST /v1/executions', { body, token })).body as { request_id: string };
  await world.database.pool.query({
    text: `update execution set config = json_build_object('envVars', repeat('x', 1000000)) where id = $1`,
    values: [id],
  });
  /** Comes again where too many of one token have come at once. */
  const wait = async (): ReturnType<typeof world.call> => {
    for (;;) {
      const answer = await world.call(`GET /v1/executions/${id}?wait=60`, { token });
      if (answer.status !== 429) return answer;
      await setTimeout(AGAIN_MS);
    }
  };
  const answers = Array.from({ length: WATCHERS }, wait);
  await eventually(async () => (await waiting(token)) === WATCHERS);
  await stillFor(WINDOW_MS);
  const before = await statements();
  await world.client.execution(id).cancel();
  for (const { status, text } of await Promise.all(answers)) {
    const isWhole = status === 200 && text.length > 1_000_000;
    tally.add('a wait for an execution', isWhole ? null : `status ${status}, ${text.length} characters`);
  }
  await stillFor(WINDOW_MS);
  // Each answer by itself would take two.
  const reads = (await statements()) - before;
  tally.add(`${WATCHERS} waits for an execution`, reads < WATCHERS ? null : `${reads} transactions`);
  tally.expectNoneThrough(4 + WATCHERS + 1);
});

/** Asks again whenever it was answered, until it is to leave. */
const askAgain = async (ask: () => Promise<Response>, leaving: AbortSignal): Promise<void> => {
  while (!leaving.aborted) {
    await ask()
      .then((answer) => answer.text())
      .catch(() => undefined);
    await setTimeout(AGAIN_MS, undefined, { signal: leaving }).catch(() => undefined);
  }
};

/** Lets time pass in which nothing is expected: what is counted is what happens meanwhile. */
const stillFor = async (ms: number): Promise<void> => {
  const until = performance.now() + ms;
  await eventually(() => performance.now() >= until);
};

test('a stream and a long poll end when their token is revoked; those of others go on', async () => {
  const kept = await world.token('submit', 'read', 'metrics');
  const paths = await watchable(kept);
  for (const [what, path] of Object.entries(paths)) {
    const token = await world.token('read');
    const { rows } = await world.database.pool.query<{ id: number }>('select max(id)::int as id from api_token');
    const other = await followed(path, kept);
    const one = await followed(path, token);
    await revokeToken(world.database.pool, rows[0]!.id);
    const since = performance.now();
    const ended = await Promise.race([
      one.over.then((how) => how),
      stillFor(REVOKED_MS).then(() => `still open after ${REVOKED_MS} ms`),
    ]);
    const isTold = ended === 'unauthorized';
    tally.add(what, isTold ? null : ended);
    if (isTold) expect(performance.now() - since).toBeLessThan(REVOKED_MS);
    tally.add(`${what}, of another token`, other.isOver() ? 'ended, too' : null);
    one.leave();
    other.leave();
  }
  tally.expectNoneThrough(4 + WATCHERS + 1 + 8);
});

interface Waiter {
  /** Resolves with how it ended. */
  over: Promise<string>;
  isOver(): boolean;
  leave(): void;
}

const followed = async (path: string, token: string): Promise<Waiter> => {
  let ended = false;
  if (path.includes('events')) {
    const stream: Followed = await follow(`${world.api.url}${path}`, bearer(token));
    const over = stream.over.then(() => {
      ended = true;
      const last = stream.events.at(-1);
      return last?.name === 'problem' ? String(last.data['type']).split(':').at(-1)! : String(last?.name);
    });
    return { over, isOver: () => ended, leave: stream.leave };
  }
  const leaving = new AbortController();
  const over = world.call(`GET ${path}`, { token, signal: leaving.signal }).then(
    ({ status, body }) => {
      ended = true;
      return status === 401 ? String(body.type).split(':').at(-1)! : `status ${status}`;
    },
    () => 'left',
  );
  return { over, isOver: () => ended, leave: () => leaving.abort() };
};

test('one caller takes at most its share of streams, requests and bodies; another is answered meanwhile', async () => {
  // Without a wait for those that were refused: all ask at once.
  const perCaller = { refusedShare: 1 };
  const limits = { maxRequests: 20, maxWaiting: 8, maxBodyBytes: 100_000, perCaller };
  const own = await openWorld({ limits });
  const greedy = await own.token('submit', 'read');
  const modest = await own.token('submit', 'read');
  const fanout = (await own.call('POST /v1/fanouts', { body: {}, token: greedy })).body.id as string;
  const path = `/v1/fanouts/${fanout}/events`;
  const streams: Followed[] = [];
  for (let n = 0; n < 4; n++) streams.push(await follow(`${own.api.url}${path}`, bearer(greedy)));
  for (let n = 0; n < rounds(20, 200); n++) {
    const { status, body, headers } = await own.call(`GET /v1/fanouts/${fanout}?wait=1`, { token: greedy });
    const isRefused = status === 429 && body.code === 'CALLER_LIMIT' && headers.get('retry-after') === '1';
    tally.add('one stream more than its share', isRefused ? null : `status ${status}`);
  }
  const other = await follow(`${own.api.url}${path}`, bearer(modest));
  tally.add('takes the place of another caller', other.type === 'text/event-stream' ? null : other.type);
  // Requests that hold their place, since the table that they need is locked.
  const holder = await own.database.pool.connect();
  await holder.query('begin');
  await holder.query('lock table task in access exclusive mode');
  const held = Array.from({ length: 30 }, (_, n) => own.call(`GET /v1/tasks/t-${n}`, { token: greedy }));
  const refused = await Promise.race([Promise.any(held), stillFor(10_000).then(() => null)]);
  tally.add('one request more than its share', refused?.status === 429 ? null : `status ${refused?.status}`);
  const answered = await own.call('GET /v1/nodes', { token: modest });
  tally.add('takes the requests of another caller', answered.status === 200 ? null : `status ${answered.status}`);
  await holder.query('rollback');
  holder.release();
  const statuses = (await Promise.all(held)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(20);
  for (const stream of [...streams, other]) stream.leave();
  await own.stop();
  tally.expectNoneThrough(4 + WATCHERS + 1 + 8 + rounds(20, 200) + 3);
});
