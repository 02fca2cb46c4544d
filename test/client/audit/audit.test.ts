import { hostname, userInfo } from 'node:os';
import { insertAudit } from '../../../postgres/operations/audit';
import { Retention } from '../../../postgres/sweeper/retention';
import type { AuditView } from '../../../workflows/contracts/audit';
import type { ApiWorld } from '../../api/world';
import { items, openWorld } from '../../api/world';
import { eventually } from '../../helpers/eventually';

/** Each change by an operator is written down before it is made, with its outcome afterwards. */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
  await world.client.submit('items', items('a', '1', '2', '3'));
  await world.client.submitBatch('lane', 'l', items('l', 'in-lane'));
});
afterAll(() => world.stop());

const newest = async (): Promise<AuditView> => (await world.client.audit.list({ limit: 1 }))[0]!;
const none = '00000000-0000-4000-8000-000000000000';

type Change = readonly [name: string, change: (client: ApiWorld['client']) => Promise<unknown>, expected: object];
const changes: readonly Change[] = [
  ['flush', (c) => c.flush('items'), { verb: 'flush', subject: 'handler items' }],
  ['pause', (c) => c.pause('items', { reason: 'r' }), { subject: 'handler items', detail: { reason: 'r' } }],
  ['resume', (c) => c.resume('items'), { verb: 'resume', subject: 'handler items', answer: { resumed: true } }],
  ['pause of a target', (c) => c.pause('items', { target: 'a' }), { verb: 'pause', subject: 'target items/a' }],
  ['targets.pause', (c) => c.targets.pause('items', 'a'), { verb: 'pause', subject: 'target items/a' }],
  ['targets.resume', (c) => c.targets.resume('items', 'a'), { verb: 'resume', subject: 'target items/a' }],
  ['targets.flush', (c) => c.targets.flush('items', 'a'), { verb: 'flush', subject: 'target items/a' }],
  ['setTarget', (c) => c.setTarget('items', 'a', null), { verb: 'set', detail: { overrides: null } }],
  ['redrive', (c) => c.redrive('items', { only: 'failed' }), { verb: 'redrive', detail: { only: 'failed' } }],
  ['cancel', (c) => c.cancel(['1', '2']), { verb: 'cancel', subject: 'task 1 and 1 more' }],
  ['resolve', (c) => c.resolve({ tasks: ['3'] }, { as: 'failed' }), { subject: 'task 3', outcome: 'NOT_UNKNOWN' }],
  ['tasks.resolve', (c) => c.tasks.resolve(['3'], { as: 'failed' }), { subject: 'task 3', outcome: 'NOT_UNKNOWN' }],
  ['batches.resolve', (c) => c.batches.resolve(999, { as: 'failed' }), { subject: 'batch 999', outcome: 'NOT_FOUND' }],
  ['cancelBatch', (c) => c.cancelBatch(999), { verb: 'cancel', subject: 'batch 999', outcome: 'NOT_FOUND' }],
  ['pauseLane', (c) => c.pauseLane('l', 'why'), { subject: 'lane l', detail: { reason: 'why' }, outcome: 'done' }],
  ['resumeLane', (c) => c.resumeLane('l'), { verb: 'resume', subject: 'lane l' }],
  ['setLaneWeight', (c) => c.setLaneWeight('l', 7), { verb: 'set', detail: { weight: 7 } }],
  ['skipHead', (c) => c.skipHead('l'), { verb: 'skip', outcome: 'NOT_HALTED' }],
  ['fixHead', (c) => c.fixHead('l', { as: 'again' }), { verb: 'fix', outcome: 'NOT_HALTED' }],
  ['reportLost', (c) => c.reportLost('l'), { verb: 'report lost', subject: 'lane l' }],
  ['setQueuer', (c) => c.setQueuer({ slots: 5 }), { verb: 'set', subject: 'queuers', detail: { slots: 5 } }],
  ['pauseQueuer', (c) => c.pauseQueuer(), { verb: 'pause', subject: 'queuers' }],
  ['resumeQueuer', (c) => c.resumeQueuer(), { verb: 'resume', subject: 'queuers' }],
  ['drainNode', (c) => c.drainNode('n'), { verb: 'drain', subject: 'node n', outcome: 'NOT_FOUND' }],
  ['movePartition', (c) => c.movePartition('items/0', null), { verb: 'move', subject: 'partition items/0' }],
  ['execution cancel', (c) => c.execution(none).cancel(), { verb: 'cancel', subject: `execution ${none}` }],
  ['callbacks.send', (c) => c.callbacks.send(), { verb: 'send', subject: 'callbacks', answer: { sent: 0 } }],
  ['send of one', (c) => c.callbacks.send({ ids: [9] }), { subject: 'callback 9', outcome: 'NOT_FOUND' }],
  [
    'bulk.start',
    (c) => c.bulk.start({ handler: 'items', action: { do: 'cancel' }, where: { target: 'a' } }),
    { verb: 'bulk cancel', subject: 'target items/a', detail: { where: { target: 'a' } }, outcome: 'done' },
  ],
  ['bulk.stop', (c) => c.bulk.stop(none), { verb: 'stop', subject: `bulk action ${none}`, outcome: 'NOT_FOUND' }],
  [
    'openFanout',
    (c) => c.openFanout({ userKey: 'k', notify: { url: 'https://hook.example/secret' } }),
    { verb: 'open', subject: 'fan-out', detail: { userKey: 'k' }, answer: { state: 'open', userKey: 'k' } },
  ],
  ['fanouts.open', (c) => c.fanouts.open({ id: none }), { verb: 'open', subject: `fan-out ${none}`, outcome: 'done' }],
  ['sealFanout', (c) => c.sealFanout(none), { verb: 'seal', subject: `fan-out ${none}`, outcome: 'done' }],
  [
    'reopenItems',
    (c) => c.reopenItems([`${none}:0:1`, `${none}:0:2`]),
    { verb: 'reopen', subject: `item ${none}:0:1 and 1 more`, outcome: 'INVALID_ITEM' },
  ],
  [
    'execute',
    (c) =>
      c.execute({ functionId: 'f', method: 'm', config: { envVars: { KEY: 'secret' } } }, [['secret']], {
        requestId: none,
      }),
    { verb: 'execute', subject: `execution ${none}`, detail: { functionId: 'f', method: 'm' }, answer: { items: 1 } },
  ],
  ['reapFanouts', (c) => c.reapFanouts({}), { verb: 'reap', subject: 'fan-outs' }],
];

test.each(changes)('%s is in the audit, with who made it', async (_name, change, expected) => {
  const before = (await newest())?.id ?? 0;
  await change(world.client).catch(() => undefined);
  const entry = await newest();
  expect(entry.id).toBeGreaterThan(before);
  expect(entry).toMatchObject({ door: 'client', origin: null, who: `${userInfo().username}@${hostname()}` });
  expect(entry.outcome).not.toBe(null);
  expect(entry).toMatchObject(expected);
  expect(JSON.stringify(entry)).not.toContain('secret');
});

test('looking, submitting, adding items and acking is not in the audit', async () => {
  const { id } = await world.client.openFanout();
  const before = (await newest()).id;
  await world.client.submit('items', items('b', '4'));
  await world.client.status();
  await world.client.ackItems([...(await world.client.addItems(id, 2))]);
  expect((await newest()).id).toBe(before);
});

test('a change over HTTP is its token’s, with its address', async () => {
  const token = await world.token('operate');
  const admin = await world.token('admin');
  const call = () => world.call('POST /v1/handlers/items/pause', { token, body: { reason: 'by hand' } });
  expect((await call()).status).toBe(200);
  const entry = await newest();
  expect(entry).toMatchObject({ door: 'api', who: expect.stringMatching(/^token \d+ \(operate\)$/), verb: 'pause' });
  expect(entry.origin).toMatch(/^(::ffff:)?127\.0\.0\.1$/);
  const { body } = await world.call(`GET /v1/audit?who=${encodeURIComponent(entry.who)}`, { token: admin });
  expect(body.entries.map(({ id }: { id: number }) => id)).toEqual([entry.id]);
  const older = await world.call(`GET /v1/audit?limit=2&before=${entry.id}`, { token: admin });
  expect(older.body.entries).toHaveLength(2);
  await world.client.resume('items');
  expect(await newest()).toMatchObject({ door: 'client' });
});

test('a change by an agent is its token’s, by a door that tells it apart; no other can be named', async () => {
  const token = await world.token('operate');
  const resume = (door: string) =>
    world.call('POST /v1/handlers/items/resume', { token, body: {}, headers: { 'muster-door': door } });
  await eventually(async () => (await resume('api')).status === 200); // the API knows the token
  for (const [named, expected] of [
    ['mcp', 'mcp'],
    ['MCP', 'api'],
    ['cli', 'api'],
    ['mcp, mcp', 'api'],
  ] as const) {
    expect((await resume(named)).status).toBe(200);
    expect(await newest()).toMatchObject({ door: expected, who: expect.stringMatching(/^token \d+ \(operate\)$/) });
  }
});

test('pages have each entry once, the newest first', async () => {
  for (let i = 0; i < 3; i++) await world.client.flush('items');
  const all = (await world.client.audit.list({ limit: 1_000 })).map(({ id }) => id);
  const paged: number[] = [];
  for (let before = all[0]! + 1; ;) {
    const page = (await world.client.audit.list({ limit: 2, before })).map(({ id }) => id);
    paged.push(...page);
    if (page.length < 2) break;
    before = page.at(-1)!;
  }
  expect(paged).toEqual(all);
});

test('what is refused for its arguments is no change', async () => {
  const before = (await newest()).id;
  await expect(world.client.pause('items', { reason: 'x'.repeat(1_001) })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  await expect(world.client.cancel([''])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect((await newest()).id).toBe(before);
});

test('a change that cannot be written down is not made', async () => {
  const { pool } = world.database;
  await pool.query('alter table audit rename to hidden');
  await expect(world.client.pause('items')).rejects.toThrow();
  await pool.query('alter table hidden rename to audit');
  expect((await world.client.status('items'))[0]).toMatchObject({ paused: null });
});

test('an entry that tells more than fits is kept without it, and text that cannot be stored is replaced', async () => {
  await world.client.pauseLane('l', 'x\u0000y'.repeat(3_000)).catch(() => undefined);
  expect(await newest()).toMatchObject({ verb: 'pause', detail: {}, outcome: 'INVALID_ARGUMENT' });
  await world.client.pauseLane('no\u0000such').catch(() => undefined);
  expect(await newest()).toMatchObject({ verb: 'pause', subject: 'lane no\ufffdsuch' });
  await world.client.cancel([`${'long'.repeat(500)}`]);
  expect((await newest()).subject).toHaveLength(600);
});

test('an entry cannot be changed or deleted within a year, and is deleted after 400 days', async () => {
  const { pool } = world.database;
  const { id } = await newest();
  await expect(pool.query('update audit set who = $$me$$ where id = $1', [id])).rejects.toThrow('Cannot change');
  await expect(pool.query('update audit set outcome = $$done$$ where id = $1', [id])).rejects.toThrow('Cannot change');
  await expect(pool.query('delete from audit where id = $1', [id])).rejects.toThrow('Cannot delete');
  await expect(pool.query('truncate audit')).rejects.toThrow('Cannot truncate');
  const entry = { who: 'x', door: 'cli', origin: null, verb: 'pause', subject: 'handler x', detail: '{}' } as const;
  const old = await insertAudit(pool, entry);
  await pool.query('alter table audit disable trigger keep_audit');
  await pool.query(`update audit set at = clock() - interval '401 days' where id = $1`, [old]);
  await pool.query('alter table audit enable trigger keep_audit');
  await new Retention().deleteExpired(pool, 10);
  const left = (await world.client.audit.list({ limit: 1_000 })).map((one) => one.id);
  expect([left.includes(old), left.includes(id)]).toEqual([false, true]);
});
