import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { startTemporalDev } from '../../../workers/embedded';
import type { Check } from '../../../workers/doctor/check';
import { checkPooler, poolerCheck } from '../../../workers/doctor/pooler';
import { clockCheck, connectionsCheck, driftCheck, serverCheck } from '../../../workers/doctor/postgres';
import { checkHandlers } from '../../../workers/doctor/workers';
import type { HandlerStatus } from '../../../client';
import { createDatabase } from '../../helpers/database';
import type { World } from '../world';
import { createWorld } from '../world';

/** `muster doctor`: what it finds of each kind, and the remedy that it names. @slow */

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

/** The checks by their names, and the exit code. */
const examine = async (flags = ''): Promise<{ code: number | string; of: Record<string, Check> }> => {
  const { code, ...answer } = await world.run(`doctor --json ${flags}`);
  const { ok, checks } = answer.json<{ ok: boolean; checks: Check[] }>();
  expect(ok).toBe(code === 0);
  return { code, of: Object.fromEntries(checks.map((check) => [check.name, check])) };
};

test('of a whole installation nothing is wrong, but for handlers without a worker', async () => {
  const alone = await examine();
  expect([alone.code, alone.of['handlers']]).toMatchObject([
    0,
    {
      state: 'warning',
      says: 'no live worker serves orders, slow, narrow',
      remedy: expect.stringContaining('muster worker'),
    },
  ]);
  const worker = await world.worker();
  const { code, of } = await examine();
  expect([code, Object.values(of).filter(({ state }) => state !== 'ok')]).toEqual([0, []]);
  expect(Object.keys(of)).toEqual([
    'config',
    'postgres',
    'pooler',
    'connections',
    'clocks',
    'transactions',
    'tables',
    'handlers',
    'runs',
    'temporal',
    'search attribute',
    'timers',
  ]);
  expect(of['config']!.says).toMatch(/muster\.config\.ts: 3 handlers, 0 functions$/);
  expect(of['handlers']!.says).toMatch(/^3 served by live workers: narrow by (\S+), orders by \1, slow by \1$/);
  expect(of['pooler']!.says).toBe('none in between');
  expect(of['temporal']!.says).toMatch(/^version \d+\.\d+\.\d+, namespace default at /);
  expect((await world.run('doctor')).stdout).toContain('Nothing is wrong.');
  worker.child.kill('SIGTERM');
  await worker.exit;
});

test('it names a transaction that is open', async () => {
  const held = await createDatabase();
  const session = await held.pool.connect();
  await session.query('begin');
  await session.query('select pg_current_xact_id()');
  const { of } = await examine(`--database-url ${held.url}`);
  expect(of['transactions']).toMatchObject({
    state: 'ok',
    says: expect.stringMatching(/^session \d+ of postgres \(test\) has had one open for \d/),
  });
  await session.query('rollback');
  session.release();
  await held.drop();
});

test('an index that was dropped is named', async () => {
  const less = await createDatabase();
  await less.pool.query('drop index held_target_seq');
  const { code, of } = await examine(`--database-url ${less.url}`);
  expect([code, of['tables']]).toMatchObject([
    0,
    { state: 'warning', says: 'not as the migrations made them: index held_target_seq is missing' },
  ]);
  await less.drop();
});

test('a config file that cannot be used is a check that failed', async () => {
  const file = world.write('wrong.config.json', [{ handlers: 3 }]);
  const { code, of } = await examine(`--config ${file}`);
  expect([code, Object.keys(of)]).toEqual([1, ['config']]);
  expect(of['config']).toMatchObject({ state: 'failed', says: expect.stringContaining('handlers: expected an array') });
});

test('tables that are missing, with the command that makes them; Temporal is looked at all the same', async () => {
  const empty = await createDatabase({ empty: true });
  const { code, of } = await examine(`--database-url ${empty.url}`);
  expect([code, of['tables']]).toMatchObject([1, { state: 'failed', says: expect.stringContaining('muster migrate') }]);
  expect([of['handlers'], of['temporal']]).toMatchObject([undefined, { state: 'ok' }]);
  const { stdout } = await world.run(`doctor --database-url ${empty.url}`);
  expect(stdout).toMatch(/tables.*FAILED[^]*Something failed; see above\./);
  await empty.drop();
});

test('a server that is away: Postgres or Temporal, while the other one is looked at', async () => {
  const noPostgres = await examine('--database-url postgres://nobody@127.0.0.1:1/none');
  expect([noPostgres.code, noPostgres.of]).toMatchObject([
    1,
    { postgres: { state: 'failed' }, temporal: { state: 'ok' } },
  ]);
  let tries = 0;
  const gone = createServer((socket) => {
    tries++;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  expect(await examine(`--database-url postgres://nobody@127.0.0.1:${port}/none`)).toMatchObject({ code: 1 });
  expect(tries).toBe(1);
  gone.close();
  const noTemporal = await examine('--temporal-address 127.0.0.1:1');
  expect([noTemporal.code, noTemporal.of]).toMatchObject([
    1,
    { postgres: { state: 'ok' }, temporal: { state: 'failed' } },
  ]);
  const { of } = await examine('--namespace elsewhere');
  expect(of['temporal']).toMatchObject({
    state: 'failed',
    says: expect.stringContaining('has no namespace "elsewhere"'),
  });
});

test('a Temporal with its own timers and without the search attribute: warnings with what to set', async () => {
  const server = await startTemporalDev({ dynamicConfig: { 'history.timerProcessorMaxTimeShift': '1s' } });
  try {
    const { code, of } = await examine(`--temporal-address ${server.address}`);
    expect(code).toBe(0);
    expect(of['timers']).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('timerProcessorMaxTimeShift'),
    });
    expect(of['search attribute']).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining(
        'temporal operator search-attribute create --namespace default --name MusterHandler',
      ),
    });
  } finally {
    await server.stop();
  }
});

const status = (more: Partial<HandlerStatus>): HandlerStatus =>
  ({
    handler: 'orders',
    paused: null,
    served: true,
    stalled: [],
    counts: { created: 0, batched: 0, 'in-progress': 0 },
    ...more,
  }) as unknown as HandlerStatus;
const stands = { kind: 'notifier', name: 'notifier', ms: 61_000, workflowId: 'muster/notifier', runId: null } as const;
const ended = status({ handler: 'gone', served: false });
const waiting = status({
  handler: 'old',
  served: false,
  counts: { created: 1, batched: 0, 'in-progress': 0 } as never,
});

test('the look for a pooler ends where a role may have one connection only', async () => {
  const database = await createDatabase();
  const role = `one_${database.name}`;
  await database.pool.query(`create role ${role} login connection limit 1 password 'one'`);
  const url = new URL(database.url);
  [url.username, url.password] = [role, 'one'];
  try {
    await expect(checkPooler(url.href)).rejects.toThrow('too many connections for role');
  } finally {
    await database.pool.query(`drop role ${role}`);
    await database.drop();
  }
});

test.each<[what: string, checks: Check[], expected: Partial<Check>[]]>([
  [
    'a replica',
    [serverCheck({ version: '18.1', isReplica: true })],
    [{ state: 'failed', remedy: 'Give the URL of the primary.' }],
  ],
  ['29 free connections', [connectionsCheck({ connections: 71, maxConnections: 100 })], [{ state: 'warning' }]],
  ['30 free connections', [connectionsCheck({ connections: 70, maxConnections: 100 })], [{ state: 'ok' }]],
  [
    'a clock that is behind',
    [clockCheck(1_000, 3_001, 3_010)],
    [{ state: 'warning', says: expect.stringContaining('2.0 s') }],
  ],
  ['a clock that is ahead', [clockCheck(5_011, 3_000, 3_010)], [{ state: 'warning' }]],
  ['a clock within the time of the answer', [clockCheck(9_000, 1_000, 9_900)], [{ state: 'ok' }]],
  [
    'twelve objects that are gone, of which ten are named',
    [driftCheck({ missing: [...Array(12).keys()].map((i) => `index i${i}`), changed: [] })],
    [{ state: 'warning', says: expect.stringMatching(/index i9 is missing and 2 more$/) }],
  ],
  [
    'a pooler that lends sessions, with and without the flag of the URL',
    [true, false].map((isSet) => poolerCheck({ isBetween: true, isShared: true }, isSet)),
    [
      { state: 'ok', says: expect.stringContaining('muster migrate') },
      { state: 'failed', remedy: expect.stringContaining('?pgbouncer=true') },
    ],
  ],
  [
    'something in between whose sessions stay',
    [poolerCheck({ isBetween: true, isShared: false }, false)],
    [{ state: 'warning', remedy: expect.stringContaining('?pgbouncer=true') }],
  ],
  [
    'the flag without a pooler',
    [poolerCheck({ isBetween: false, isShared: false }, true)],
    [{ state: 'ok', says: expect.stringContaining('leave ?pgbouncer=true out') }],
  ],
  [
    'two workers with names, one that stops',
    checkHandlers(
      [],
      [status({})],
      [
        { id: '1', name: 'left', handlers: ['orders'], alive: true, draining: false },
        { id: '2', name: null, handlers: ['orders'], alive: true, draining: false },
        { id: '3', name: 'stops', handlers: ['orders'], alive: true, draining: true },
        { id: '4', name: 'dead', handlers: ['orders'], alive: false, draining: false },
      ],
    ),
    [{ state: 'ok', says: '1 served by live workers: orders by left, 2' }, { state: 'ok' }],
  ],
  ['a handler that is gone, without work', checkHandlers([], [ended]), [{ state: 'ok' }, { state: 'ok' }]],
  [
    'a handler that is gone, with work',
    checkHandlers([], [waiting]),
    [{ says: 'no live worker serves old' }, { state: 'ok' }],
  ],
  [
    'a handler of the config that the store does not know',
    checkHandlers(['new'], []),
    [{ state: 'warning' }, { state: 'ok' }],
  ],
  [
    'a paused handler',
    checkHandlers([], [status({ paused: { since: '', reason: null } })]),
    [{ state: 'ok' }, { name: 'paused', state: 'warning', says: 'paused: orders' }, { state: 'ok' }],
  ],
  [
    'a run that stands, listed with two handlers',
    checkHandlers([], [status({ stalled: [stands] }), status({ handler: 'two', stalled: [stands] })]),
    [{ state: 'ok' }, { state: 'failed', says: 'muster/notifier has stood for 61 s' }],
  ],
  [
    'results that do not come',
    checkHandlers([], [status({ stalled: [{ ...stands, kind: 'read', name: '7' }] })]),
    [{ state: 'ok' }, { state: 'ok' }, { name: 'results', state: 'warning', says: 'batch 7: none for 61 s' }],
  ],
])('%s', (_what, checks, expected) => {
  expect(checks).toEqual(expected.map((one) => expect.objectContaining(one)));
});
