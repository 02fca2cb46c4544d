import { knownMigrations } from '../../../../postgres/migrating/files';
import { createDatabase } from '../../../helpers/database';
import { eventually } from '../../../helpers/eventually';
import { runCli } from '../../process';
import type { World } from '../../world';
import { createWorld, order } from '../../world';

/** How `muster worker` starts without its store, without handlers, and ends at once. @slow */

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

test('a second signal ends the process at once [Build 10]', async () => {
  const worker = await world.worker();
  const release = world.downstream.hold();
  await world.submit('orders', order('twice', 'no'));
  await eventually(() => world.downstream.calls.length >= 1);
  worker.child.kill('SIGTERM');
  await worker.says(/draining/);
  // One that comes at once is the same (Ctrl-C under npx comes twice); a later one is not.
  worker.child.kill('SIGTERM');
  const again = setInterval(() => worker.child.kill('SIGTERM'), 100);
  expect(await worker.exit).toBe(143);
  clearInterval(again);
  release();
});

test('start: it waits for servers that come up later, and says for whom', async () => {
  const empty = await createDatabase({ empty: true });
  const worker = world.start('worker', { MUSTER_DATABASE_URL: empty.url });
  await worker.says(/no Muster tables of this version.*Trying again/);
  const env = { ...world.env, MUSTER_DATABASE_URL: empty.url };
  const migrated = await runCli(['migrate', '--json'], { cwd: world.folder, env });
  expect([migrated.code, migrated.json()]).toMatchObject([0, { schema: 'muster', ran: knownMigrations() }]);
  await worker.says(/"msg":"ready"/);
  worker.child.kill('SIGTERM');
  expect(await worker.exit).toBe(0);
  await empty.drop();
});

test('a config with functions alone: muster worker runs what is executed', async () => {
  world.write(
    'functions.config.ts',
    `import { defineFunction } from 'temporal-muster';
export default { functions: [defineFunction({ name: 'double', run: ([n]) => String(Number(n) * 2) })] };`,
  );
  const worker = await world.worker('--config functions.config.ts --json');
  expect(JSON.parse(worker.stdout())).toMatchObject({ ready: true, handlers: [] });
  const given = 'execute --function double --args-file - --wait --json --config functions.config.ts';
  const { code, stdout } = await world.run(given, '["21"]\n');
  expect([code, stdout]).toEqual([0, expect.stringContaining('done')]);
  worker.child.kill('SIGTERM');
  expect(await worker.exit).toBe(0);
});
