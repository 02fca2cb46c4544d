import { hostname } from 'node:os';
import type { AuditView } from '../../../workflows/contracts/audit';
import { hashToken } from '../../../workers/api/tokens';
import type { World } from '../world';
import { createWorld } from '../world';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const json = async <T>(line: string): Promise<T> => (await world.run(`${line} --json`)).json<T>();

test('a token is made with limits, rotated and revoked, and its secret is shown once', async () => {
  await world.run('tenant set acme');
  expect((await world.run('token create --name x --scope read --tenant nowhere')).stderr).toMatch(
    /muster tenant set nowhere/,
  );
  const made = await json<{ token: string; id: number; expiresAt: string; createdAt: string }>(
    "token create --name ci --scope submit,complete --tenant acme --handler 'mail-*' --handler orders --expires 90d",
  );
  expect(made).toMatchObject({ tenant: 'acme', handlers: ['mail-*', 'orders'], scopes: ['submit', 'complete'] });
  expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBe(90 * 86_400_000);
  const next = await json<{ token: string; id: number }>(`token rotate ${made.id} --overlap 1h`);
  expect(next).toMatchObject({ tenant: 'acme', handlers: ['mail-*', 'orders'], name: 'ci' });
  expect(next.token).not.toBe(made.token);
  const listed = await world.run('token list');
  expect(listed.stdout).toMatch(/last used.*expires/);
  for (const { token } of [made, next]) expect(listed.stdout).not.toContain(token.slice(7));
  const [old] = await json<{ expiresAt: string }[]>('token list');
  expect(Date.parse(old!.expiresAt) - Date.now()).toBeLessThanOrEqual(3_600_000);
  expect((await world.run(`token revoke ${made.id}`)).stdout).toBe(`token ${made.id} (ci) is revoked\n`);
  const gone = await world.run(`token rotate ${made.id}`);
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('Valid token "1" not found')]);
});

test('of rotations of one token at once one makes a token, and a later one none', async () => {
  const { id } = await json<{ id: number }>('token create --name twice --scope read --expires 90d');
  const rotate = () => world.run(`token rotate ${id} --overlap 1h --json`);
  const all = await Promise.all([rotate(), rotate(), rotate(), rotate()]);
  expect(all.map(({ code }) => code).sort()).toEqual([0, 1, 1, 1]);
  const late = await rotate();
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('It was revoked, has expired, or was rotated')]);
  const made = (await json<{ name: string; expiresAt: string; createdAt: string; id: number }[]>('token list')).filter(
    ({ name }) => name === 'twice',
  );
  const lives = made.map(({ expiresAt, createdAt }) => Date.parse(expiresAt) - Date.parse(createdAt));
  expect(lives).toEqual([expect.any(Number), 90 * 86_400_000]);
  expect(lives[0]).toBeLessThan(2 * 3_600_000);
  // The new one was never stored by its owner: the old one may be rotated again.
  await world.run(`token revoke ${made[1]!.id}`);
  expect((await rotate()).code).toBe(0);
});

test('a tenant is made, shown with what it uses, and deleted once no token is valid', async () => {
  const made = await json('tenant set shop --max-queued 10 --max-executions 0 --max-per-second 50');
  expect(made).toMatchObject({ name: 'shop', maxQueued: 10, maxExecutions: 0, maxBytes: null, maxPerSecond: 50 });
  await world.submit('orders', { id: 'shop/1', payload: { country: 'se', n: 1 } });
  const tenants = await json<{ name: string }[]>('tenant list');
  expect(tenants.find(({ name }) => name === 'shop')).toMatchObject({ uses: { queued: 1, targets: 1, executions: 0 } });
  expect((await world.run('tenant list')).stdout).toMatch(/shop +│ 1 of 10 +│ 22 +│ 1 +│ 0 of 0 +│ 0 +│ 50/);
  const { id } = await json<{ id: number }>('token create --name s --scope read --tenant shop');
  const refused = await world.run('tenant delete shop');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('a tenant without valid tokens')]);
  await world.run(`token revoke ${id}`);
  expect((await world.run('tenant delete shop')).code).toBe(0);
  expect((await world.run('tenant delete shop')).stderr).toContain('not found');
});

test.each([
  ['token create --name x --scope write', /Expected submit, read, complete, operate, metrics, admin/],
  ['token create --name x --scope read --expires soon', /from 1s to 3650d/],
  ["token create --name x --scope read --handler 'a*b'", /name of a handler/],
  ['tenant set Acme', /1-63 of a-z/],
  ['tenant set acme --max-queued -1', /whole number/],
])('%s is refused with what was expected', async (line, expected) => {
  const refused = await world.run(line);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(expected)]);
});

test('each change of tokens and tenants is an entry of the audit, without the token and its hash', async () => {
  await world.run('tenant set audited --max-queued 5');
  const made = await json<{ token: string; id: number }>('token create --name audited --scope read --tenant audited');
  const next = await json<{ token: string; id: number }>(`token rotate ${made.id} --overlap 1h`);
  await world.run('token revoke 999999');
  for (const { id } of [made, next]) await world.run(`token revoke ${id}`);
  await world.run('tenant delete audited');
  await world.run('token list');
  const entries = (await json<AuditView[]>('audit --limit 7')).reverse();
  expect(entries.map(({ verb, subject, outcome }) => `${verb} ${subject}: ${outcome}`)).toEqual([
    'set tenant audited: done',
    'create token audited: done',
    `rotate token ${made.id}: done`,
    'revoke token 999999: NOT_FOUND',
    `revoke token ${made.id}: done`,
    `revoke token ${next.id}: done`,
    'delete tenant audited: done',
  ]);
  expect(entries[0]!.detail).toMatchObject({ maxQueued: 5 });
  expect(entries[1]!.detail).toMatchObject({ scopes: ['read'], tenant: 'audited' });
  expect(entries[2]!.detail).toEqual({ overlapMs: 3_600_000 });
  for (const { door, origin, who } of entries)
    expect([door, origin, who]).toEqual(['cli', null, expect.stringMatching(new RegExp(`@${hostname()}$`))]);
  const { rows } = await world.database.pool.query<{ row: string }>('select a::text as row from audit a');
  const whole = rows.map(({ row }) => row).join('\n');
  for (const { token } of [made, next]) {
    const hash = hashToken(token);
    expect(whole).not.toContain(token.slice(7));
    for (const form of ['hex', 'base64', 'base64url'] as const) expect(whole).not.toContain(hash.toString(form));
    expect(whole).not.toContain(JSON.stringify([...hash]).slice(1, -1));
  }
  expect(whole).not.toContain('"hash"');
});
