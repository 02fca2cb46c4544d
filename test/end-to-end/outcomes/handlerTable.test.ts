import { httpHandler } from '../../../handlers';
import type { Answer, Downstream, Seen } from '../../handlers/downstream';
import { json, startDownstream } from '../../handlers/downstream';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectPermitted, recordMoves } from '../../helpers/transitions/recorded';
import type { Row, Script } from './tableHandlers';
import { all, calls, callsOf, MAX_RESPONSE_BYTES, numberOf, ok, scripts, STATES, tableHandlers } from './tableHandlers';

/**
 * Every row of the table of outcomes (docs/handlers/http-json.md) on a real HTTP downstream: the
 * answer to the n-th call of a target is scripted here.
 */
let downstream: Downstream;
let muster: TestMuster;

beforeAll(async () => {
  downstream = await startDownstream();
  downstream.answer = (response, seen: Seen, request) => {
    const body = JSON.parse(seen.body) as { to: string; items: { id: string }[] };
    const calls = callsOf.get(body.to) ?? [];
    calls.push({ ids: body.items.map((item) => item.id), key: seen.headers['idempotency-key'] as string | undefined });
    callsOf.set(body.to, calls);
    scripts.get(body.to)!(calls.length, body.items)(response, seen, request);
  };
  muster = await startMuster(tableHandlers(downstream.url));
  await recordMoves(muster.database.pool);
});
afterAll(async () => {
  await muster.stop();
  await downstream.close();
});

/**
 * Submits m tasks to a fresh target and waits until none of them moves any more (or `until` holds);
 * answers state and attempts by id.
 */
const run = async (
  handler: string,
  to: string,
  m: number,
  script: Script,
  until?: (rows: Row[]) => boolean,
): Promise<Record<string, string>> => {
  scripts.set(to, script);
  await muster.client.submit(
    handler,
    Array.from({ length: m }, (_, i) => ({ id: `${to}-${i}`, payload: { to } })),
  );
  const read = async (): Promise<Row[]> => {
    const { rows } = await muster.database.pool.query<Row>({
      text: `select id, state, attempts from task_state where id like $1 order by seq`,
      values: [`${to}-%`],
    });
    return rows;
  };
  const settled = until ?? ((rows: Row[]): boolean => rows.every((row) => row.state >= 3));
  const rows = await eventually(async () => ((all) => settled(all) && all)(await read()), {
    what: async () => `${to} to settle: ${JSON.stringify(await read())} calls ${JSON.stringify(callsOf.get(to))}`,
  });
  return Object.fromEntries(rows.map((row) => [row.id.slice(to.length + 1), `${STATES[row.state]} ${row.attempts}`]));
};

const KINDS = ['none', 'by-batch', 'by-task'] as const;
type Kind = (typeof KINDS)[number];

/** Tries a row for each kind of idempotency at once: it mostly waits. `to`: names its target. */
const ofEachKind = async (tried: (kind: Kind, to: (name: string) => string) => Promise<void>): Promise<void> => {
  const ends = await Promise.allSettled(KINDS.map((kind) => tried(kind, (name) => `${name}-${kind}`)));
  const wrong = ends.flatMap((end, i) =>
    end.status === 'rejected' ? `idempotency ${KINDS[i]}: ${String((end.reason as Error).message)}` : [],
  );
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
};

test('200, all ok -> succeeded, a+1, one call', () =>
  ofEachKind(async (kind, to) => {
    expect(await run(kind, to('ok'), 8, (_, items) => ok(items))).toEqual(all(8, 'succeeded 1'));
    expect(calls(to('ok'))).toHaveLength(1);
  }));

test('200, one failed -> 1 failed, rest succeeded', () =>
  ofEachKind(async (kind, to) => {
    expect(
      await run(kind, to('one-failed'), 8, (_, items) =>
        ok(items, ({ id }) => (numberOf(id) === 3 ? { status: 400, error: 'no' } : {})),
      ),
    ).toEqual(all(8, 'succeeded 1', { 3: 'failed 1' }));
  }));

test('200, one retry -> created again with backoff, its own attempts, in a fresh batch (G2)', () =>
  ofEachKind(async (kind, to) => {
    const script: Script = (call, items) =>
      ok(items, ({ id }) => (numberOf(id) === 3 && call === 1 ? { status: 429 } : {}));
    expect(await run(kind, to('one-retry'), 8, script)).toEqual(all(8, 'succeeded 1', { 3: 'succeeded 2' }));
    expect(calls(to('one-retry')).map((call) => call.ids.length)).toEqual([8, 1]);
  }));

test('retry until attempts are exhausted -> dead', () =>
  ofEachKind(async (kind, to) => {
    expect(
      await run(kind, to('dead'), 2, (_, items) => ok(items, ({ id }) => (numberOf(id) === 1 ? { status: 429 } : {}))),
    ).toEqual({ 0: 'succeeded 1', 1: 'dead 4' });
    expect(calls(to('dead'))).toHaveLength(4);
  }));

test('200, one result missing -> 1 unknown; by task: sent again alone', () =>
  ofEachKind(async (kind, to) => {
    const script: Script = (call, items) => ok(items, ({ id }) => (numberOf(id) === 5 && call === 1 ? null : {}));
    expect(
      await run(kind, to('missing'), 8, script, (rows) =>
        rows.every((row) => row.state >= (kind === 'by-task' ? 4 : 3)),
      ),
    ).toEqual(all(8, 'succeeded 1', { 5: kind === 'by-task' ? 'succeeded 2' : 'unknown 1' }));
    expect(calls(to('missing')).map((call) => call.ids.length)).toEqual(kind === 'by-task' ? [8, 1] : [8]);
  }));

const unreadable: [string, (items: { id: string }[]) => Answer][] = [
  [
    'a stranger id',
    (items) =>
      json(200, { results: [...items.map(({ id }) => ({ id, status: 200 })), { id: 'stranger', status: 200 }] }),
  ],
  ['a duplicate id', (items) => json(200, { results: [...items, items[0]!].map(({ id }) => ({ id, status: 200 })) })],
  ['not JSON', () => (response) => void response.writeHead(200).end('<html>')],
  [
    'truncated',
    () => (response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"results": [');
      setTimeout(() => response.destroy(), 10);
    },
  ],
  ['reset after the request was written', () => (response) => void response.destroy()],
  ['no answer within the timeout', () => () => undefined],
  [
    'over the size limit',
    (items) =>
      json(200, { results: items.map(({ id }) => ({ id, status: 200 })), padding: 'x'.repeat(MAX_RESPONSE_BYTES) }),
  ],
];
test.each(unreadable)('%s -> all unknown with evidence, or sent again with the same key', (name, answer) =>
  ofEachKind(async (kind, to) => {
    const target = to(name.replaceAll(' ', '-'));
    const result = await run(
      kind,
      target,
      4,
      (call, items) => (call === 1 ? answer(items) : ok(items)),
      (rows) => rows.every((row) => row.state >= (kind === 'none' ? 3 : 4)),
    );
    if (kind === 'none') {
      expect(result).toEqual(all(4, 'unknown 1'));
      expect(calls(target)).toHaveLength(1);
      const { rows } = await muster.database.pool.query<{ error: string }>({
        text: `select b.error from batch b join target t on t.id = b.target_id where t.key = $1`,
        values: [target],
      });
      expect(rows[0]!.error).toMatch(/\S{3}/);
    } else {
      expect(result).toEqual(all(4, 'succeeded 2'));
      const keys = calls(target).map((call) => call.key);
      expect(keys).toHaveLength(2);
      expect(keys[0]).toBe(keys[1]);
      expect(keys[0]).toMatch(/^muster-[0-9a-f]{12}-\d+-\d+$/);
    }
  }),
);

test.each([400, 422])('%i with m > 1 -> bisected until the poison is alone (H4)', (status) =>
  ofEachKind(async (kind, to) => {
    const target = to(`poison-${status}`);
    const script: Script = (_, items) =>
      items.some(({ id }) => numberOf(id) === 2) ? json(status, { error: 'poison' }) : ok(items);
    const result = await run(kind, target, 8, script);
    expect(Object.values(result).filter((end) => end.startsWith('succeeded'))).toHaveLength(7);
    expect(result['2']).toBe('failed 4');
    expect(calls(target).length - 1).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(8)));
  }),
);

test('400, m = 1 -> failed', () =>
  ofEachKind(async (kind, to) => {
    expect(await run(kind, to('poison-alone'), 1, () => json(400, { error: 'bad' }))).toEqual({ 0: 'failed 1' });
  }));

test('503 twice, then 200 -> succeeded, one counted attempt, three calls', () =>
  ofEachKind(async (kind, to) => {
    expect(await run(kind, to('busy'), 4, (call, items) => (call <= 2 ? json(503, {}) : ok(items)))).toEqual(
      all(4, 'succeeded 1'),
    );
    expect(calls(to('busy')).map((call) => call.ids.length)).toEqual([4, 4, 4]);
  }));

test('429 with Retry-After -> the same batch later, no attempt counted', () =>
  ofEachKind(async (kind, to) => {
    const started = performance.now();
    expect(
      await run(kind, to('slow-down'), 4, (call, items) =>
        call === 1 ? json(429, {}, { 'retry-after': '1' }) : ok(items),
      ),
    ).toEqual(all(4, 'succeeded 1'));
    expect(performance.now() - started).toBeGreaterThan(1_000);
    expect(calls(to('slow-down'))).toHaveLength(2);
  }));

describe.each([401, 403, 404])('%i', (status) => {
  test('pauses the handler with the reason, tasks created, order kept, no attempt; resume sends them', async () => {
    const target = `halt-${status}`;
    let refused = true;
    const result = await run(
      'none',
      target,
      4,
      (_, items) => (refused ? json(status, { error: 'who are you' }) : ok(items)),
      (rows) => rows.every((row) => row.state === 0) && calls(target).length > 0,
    );
    expect(result).toEqual(all(4, 'created 0'));
    const paused = await muster.database.pool.query<{ pause_reason: string }>({
      text: `select pause_reason from handler where name = 'none' and paused_at is not null`,
    });
    expect(paused.rows[0]!.pause_reason).toContain(String(status));
    refused = false;
    await muster.client.resume('none');
    await eventually(async () => calls(target).length === 2);
    expect(calls(target)[1]!.ids).toEqual([0, 1, 2, 3].map((i) => `${target}-${i}`));
  });
});

test('64 members, one poison -> 63 succeeded, 1 failed', async () => {
  const handler = httpHandler({
    kind: 'http',
    name: 'wide',
    target: 'to',
    limits: { maxItems: 64 },
    linger: { lingerMs: 50 },
    request: {
      url: `${downstream.url}/batch`,
      envelope: { to: '{{target}}', items: '{{items}}' },
      item: { id: '{{id}}' },
    },
    response: { results: 'results', matchBy: 'id', status: { path: 'status' }, result: false },
  });
  const other = await startMuster([handler]);
  try {
    scripts.set('w', (_, items) =>
      items.some(({ id }) => id === 'w-40') ? json(422, { error: 'poison' }) : ok(items),
    );
    await other.client.submit(
      'wide',
      Array.from({ length: 64 }, (_, i) => ({ id: `w-${i}`, payload: { to: 'w' } })),
    );
    const rows = await eventually(async () => {
      const { rows } = await other.database.pool.query<Row>({ text: 'select id, state, attempts from task_state' });
      return rows.every((row) => row.state >= 4) && rows;
    });
    expect(rows.filter((row) => row.state === 5).map((row) => row.id)).toEqual(['w-40']);
    expect(rows.filter((row) => row.state === 4)).toHaveLength(63);
    expect(calls('w').length - 1).toBeLessThanOrEqual(2 * Math.log2(64));
  } finally {
    await other.stop();
  }
});

// Last: it judges what the tests before it made.
test('each change of a state is one that the table of transitions permits', () =>
  expectPermitted(muster.database.pool, [
    'batch: new -> unknown',
    'batch: open -> unknown',
    'batch: open -> dissolved',
    'task: in-progress -> batched',
    'task: in-progress -> created',
    'task: in-progress -> dead',
  ]));
