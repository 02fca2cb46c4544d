import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { ClientContext } from '../../../client/context';
import { Execution } from '../../../client/executions/handle';
import { memoryFor } from '../../../workers/api/bodies/memory';
import type { Asked, HandleDeps } from '../../../workers/api/handle';
import { handle } from '../../../workers/api/handle';
import { Looks } from '../../../workers/api/callers/looks';
import { Ticket } from '../../../workers/api/limits';
import type { Route } from '../../../workers/api/route';
import { route } from '../../../workers/api/route';
import { allRoutes } from '../../../workers/api/routes';

/** Large answers: which are built by turns, and what their callers have not read yet. */

/** GETs that are not built by turns, and why each is small or must not wait for others. */
const NOT_LARGE: Readonly<Record<string, string>> = {
  explainTask: 'one task',
  getStatus: 'counts for seconds; at most 1,000 leaders per handler',
  getHandler: 'counts for seconds; at most 1,000 leaders',
  getBulk: 'one action, whose patch has at most 64 KB',
  getLimits: 'one handler',
  getTargetLimits: 'one target',
  getSharedLimit: 'one limit, with the names of its handlers',
  listNodes: 'one per process; whoever looks why all stands must not wait for what stands',
  getQueuers: 'a few queuers, with the names of handlers that are reduced',
  getFanout: 'counts',
  getProgress: 'counts',
  getSession: 'one token',
  getOverview: 'what is seen at a glance: no names of leaders',
  getTargetPage: 'one target, with at most 20 batches',
  getBatchHalves: 'at most 200 batches, by number',
  listFanouts: 'at most 100, of counts',
  verify: 'reads for minutes; only for administrators',
  live: 'a word',
  ready: 'a word',
};

test('each GET is built by turns, or is known not to need that', () => {
  const unused = (): never => {
    throw new Error('not called');
  };
  const all = allRoutes({ stopping: new AbortController().signal, metrics: unused, document: unused });
  const gets = all.filter(({ method, stream }) => method === 'GET' && stream === undefined);
  const plain = gets.filter(({ isLarge }) => isLarge !== true).map(({ id }) => id);
  expect(plain.sort()).toEqual(Object.keys(NOT_LARGE).sort());
});

/** Answers of so many characters each, as callers ask for them; nobody reads one before `read`. */
const openDoor = () => {
  const deps = {
    memory: memoryFor(1_000_000),
    client: {},
    quotas: {},
    costs: { during: (_id: number, _bytes: number, work: () => unknown) => work() },
    stopping: new AbortController().signal,
    looks: new Looks(),
    validity: { watch: () => ({ signal: new AbortController().signal, leave: () => undefined }) },
  } as unknown as HandleDeps;
  return (method: 'GET' | 'POST', options: Partial<Route> & { length?: number; caller?: number } = {}) => {
    const { isLarge = false, length = 40_000_000, caller: id = 1, ...more } = options;
    const plain = route({
      ...{ id: 'test', method, path: '/', scope: 'read' as const, tag: 'test', summary: 'test', isLarge },
      answer: { status: 200, schema: z.string(), description: 'test' },
      problems: [],
      run: async () => 'x'.repeat(length),
    });
    const ticket = new Ticket();
    const raw = Object.assign(new EventEmitter(), { socket: { destroyed: false } });
    const sent: string[] = [];
    const reply = { raw, code: () => reply, header: () => reply, send: (text: string) => void sent.push(text) };
    const caller = { id, limits: { tenant: null, handlers: null } };
    const one = { request: { headers: {}, raw }, reply, caller, ticket, stint: null } as unknown as Asked;
    return { sent, over: handle(deps, { ...plain, ...more }, one), read: () => ticket.closed() };
  };
};
const turns = async (): Promise<void> => {
  for (let n = 0; n < 5; n++) await nextTurn();
};

test.each([false, true])('a GET waits until what its caller has not read leaves room; isLarge: %s', async (isLarge) => {
  const ask = openDoor();
  const first = ask('GET', { isLarge });
  await first.over;
  const second = ask('GET', { isLarge });
  await turns();
  expect([first.sent.length, second.sent.length]).toEqual([1, 0]);
  first.read();
  await second.over;
  expect(second.sent).toHaveLength(1);
  second.read();
});

test('the answer to a change is counted as well: the next GET waits until it was read', async () => {
  const ask = openDoor();
  const change = ask('POST');
  await change.over;
  const next = ask('GET');
  await turns();
  expect([change.sent.length, next.sent.length]).toEqual([1, 0]);
  change.read();
  await next.over;
  expect(next.sent).toHaveLength(1);
  next.read();
});

test('a change that was made is answered at once', async () => {
  const ask = openDoor();
  const first = ask('GET');
  await first.over;
  const change = ask('POST');
  await change.over;
  expect(change.sent).toHaveLength(1);
  first.read();
});

test.each([false, true])(
  'who reads none of its answers has half of the room for them, and keeps no other out; isLarge: %s',
  async (isLarge) => {
    const ask = openDoor();
    const greedy = Array.from({ length: 16 }, () => ask('GET', { isLarge, length: 4_000_000 }));
    await turns();
    expect(greedy.filter(({ sent }) => sent.length > 0)).toHaveLength(8);
    for (let caller = 2; caller < 5; caller++) {
      const other = ask('GET', { isLarge, length: 4_000_000, caller });
      await turns();
      expect([caller, other.sent.length]).toEqual([caller, 1]);
    }
    for (const { read, over } of greedy) void over.then(read);
    await Promise.all(greedy.map(({ over }) => over));
  },
);

test('those who wait for the same are answered together: it is built once, however large it is', async () => {
  const ask = openDoor();
  let built = 0;
  const run = async (): Promise<string> => (built++, 'x'.repeat(1_000_000));
  const waits = (): boolean => true;
  const answers = Array.from({ length: 60 }, () => ask('GET', { isLarge: true, run, waits }));
  for (const { over, read } of answers) void over.then(read);
  await Promise.all(answers.map(({ over }) => over));
  expect([built, new Set(answers.map(({ sent }) => sent[0]!.length)).size]).toEqual([1, 1]);
  await ask('GET', { isLarge: true, run, waits }).over; // and another one anew
  expect(built).toBe(2);
});

test('looks at an execution, which may have megabytes of settings, read none of them', async () => {
  const texts: string[] = [];
  const query = async ({ text }: { text: string }) => {
    texts.push(text);
    return { rows: [{ state: 0, items: 1, counts: { done: 0, permanentlyFailed: 0 } }] };
  };
  const client = { ready: async () => undefined, pool: { query } } as unknown as ClientContext;
  const execution = new Execution(client, 'e');
  await execution.progress();
  await execution.chunks();
  expect(texts).toHaveLength(3);
  expect(texts.join()).not.toContain('config');
});
