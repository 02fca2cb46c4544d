import type { BulkView, Client } from '../../../client';
import { followed } from '../../../client/cli/bulk/follow';
import { describeBulk, listBulkText } from '../../../client/cli/bulk/text';
import type { Output } from '../../../client/cli/support/output';
import type { CliProcess } from '../process';
import type { World } from '../world';
import { createWorld, order } from '../world';

/** `muster bulk`: counted, confirmed, followed, listed, stopped. @slow */

let world: World;
let worker: CliProcess;
beforeAll(async () => {
  world = await createWorld();
  worker = await world.worker();
  await world.ended('orders', order('bad-1', 'se', 1, 'failed'), order('bad-2', 'no', 1, 'failed'));
  await world.submit('slow', ...Array.from({ length: 12 }, (_, i) => order(`w-${i}`, 'se')));
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.exit;
  await world.close();
});

test('--dry-run counts and shows some, and nothing is started', async () => {
  const text = (await world.run('bulk cancel slow --dry-run')).stdout;
  expect(text).toMatch(/^12 tasks; the first 10:\n/);
  expect(text).toContain('w-9');
  const document = (await world.run('bulk redrive orders --state failed --target se --dry-run --json')).json();
  expect(document).toMatchObject({ count: 1, complete: true, sample: [{ id: 'bad-1' }] });
  expect((await world.run('bulk cancel slow --target none --dry-run')).code).toBe(1);
  expect((await world.run('bulk cancel slow --error x --dry-run')).stdout).toBe('No such tasks.\n');
  expect((await world.run('bulk list --json')).json()).toEqual({ actions: [], next: null });
});

test('where stdin is no terminal it needs --yes: nothing is changed without', async () => {
  const refused = await world.run('bulk cancel slow');
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toContain('--yes: expected it where stdin is no terminal, got nothing.');
  expect((await world.run('bulk list')).stdout).toBe('No bulk actions.\n');
});

test('it is followed to its end, and shown and listed afterwards', async () => {
  const { code, stdout, stderr } = await world.run('bulk cancel slow --limit 5 --yes --json');
  const view = JSON.parse(stdout) as BulkView;
  expect([code, view]).toEqual([0, expect.objectContaining({ state: 'done', done: 5, limit: 5, door: 'cli' })]);
  expect(stderr).toContain(`\`muster bulk stop ${view.id}\` stops it`);
  const shown = (await world.run(`bulk show ${view.id} --follow`)).stdout;
  expect(shown).toMatch(/^looked at +5 of 5$/m);
  expect(shown).toMatch(/^started .+ by .+@/m);
  expect((await world.run('bulk list --handler slow')).stdout).toMatch(/cancel created .* done/);
  expect((await world.run('bulk show 00000000-0000-4000-8000-000000000000')).code).toBe(1);
});

test('--detach only starts it; a stopped one says so', async () => {
  const id = (await world.run('bulk redrive orders --state failed --yes --detach')).stdout.trim();
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  const ended = (await world.run(`bulk show ${id} --follow --json`)).json<BulkView>();
  expect(ended).toMatchObject({ state: 'done', done: 2, action: { do: 'redrive' } });
  expect((await world.run(`bulk stop ${id} --json`)).json()).toMatchObject({ state: 'done' }); // it had ended
});

test('update and resolve take what they change', async () => {
  const update = (
    await world.run('bulk update slow --priority -3 --not-before 2099-01-01T00:00:00Z --yes --json')
  ).json();
  expect(update).toMatchObject({
    state: 'done',
    done: 7,
    action: { priority: -3, notBefore: '2099-01-01T00:00:00.000Z' },
  });
  expect((await world.run('bulk update slow --not-before now --yes')).stdout).toMatch(/^done +7$/m);
  const expires = '2099-01-01T00:00:00.000Z';
  expect((await world.run(`bulk update slow --id w-11 --expires-at ${expires} --yes --json`)).json()).toMatchObject({
    done: 1,
    action: { expiresAt: expires },
  });
  expect((await world.run('bulk update slow --expires-at never --yes --json')).json()).toMatchObject({ done: 1 });
  const patch = (json: string, more: string) =>
    world.run(`bulk update slow --id w-11 --payload-patch '${json}' ${more}`);
  expect((await patch('{"country":"no"}', '--dry-run')).stdout).toMatch(
    /^w-11 would keep its payload: its target would be/m,
  );
  expect((await patch('{"n":7}', '--yes --json')).json()).toMatchObject({
    done: 1,
    where: { id: 'w-11' },
    action: { payloadPatch: '{"n":7}' },
  });
  expect((await world.run('task w-11 --json')).json()).toMatchObject({ payload: { country: 'se', n: 7 } });
  const lossy = await patch('{"n":12345678901234567891}', '--yes');
  expect([lossy.code, lossy.stderr]).toEqual([2, expect.stringContaining('--payload-patch, n: ')]);
  const both = await patch('{"n":8}', '--priority 3 --yes');
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('Start two actions')]);
  const none = await world.run('bulk update slow --yes');
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--weight, --not-before or --expires-at')]);
  const resolve = await world.run(`bulk resolve orders --as failed --reason 'by hand' --yes --json`);
  expect(resolve.json()).toMatchObject({ state: 'done', total: 0, action: { as: 'failed', error: 'by hand' } });
  expect((await world.run('bulk redrive orders --yes')).code).toBe(2);
});

test('what it waits for that no worker makes is shown, listed, and said once while it is followed', async () => {
  const [listed] = (await world.run('bulk list --json')).json<{ actions: BulkView[] }>().actions;
  const waiting: BulkView = { ...listed!, state: 'counting', waitsFor: 'a worker that has handler "slow"' };
  expect(describeBulk(waiting)).toMatch(/^waits for +a worker that has handler "slow"$/m);
  expect(listBulkText([waiting])).toContain('counting, waits for a worker that has handler "slow"');
  const notes: string[] = [];
  const views = [waiting, waiting, { ...waiting, state: 'done', waitsFor: null }];
  const client = { bulk: { get: () => Promise.resolve(views.shift()) } } as unknown as Client;
  const out = {
    note: (text: string) => void notes.push(text),
    progress: () => ({ update: () => null, stop: () => null }),
  };
  await followed(client, waiting.id, out as unknown as Output);
  expect(notes).toEqual(['It waits for a worker that has handler "slow".']);
});
