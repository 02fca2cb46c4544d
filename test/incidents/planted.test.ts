import type { Client } from 'pg';
import { Client as PgClient } from 'pg';
import type { IncidentWorld, Signs } from './world';
import { act, ends, expectOver, expectSeen, ok, openIncidents } from './world';

/**
 * What takes minutes or hours to go wrong: rows and clocks are moved in place of waiting for it.
 *
 * @slow
 */

let world: IncidentWorld;
beforeAll(async () => {
  world = await openIncidents();
  await world.worker();
});
afterAll(() => world.stop());
beforeEach(() => world.quiet());

test('a slow downstream: calls take long, and tasks wait for a free one', async () => {
  world.answer('slow', (tasks) => ({ ...(ok(tasks) as { status: number }), afterMs: 21_000 }));
  await world.submit('slow', 'a', 'in-call');
  await ends(world, 'in-call', 'in-progress');
  await world.submit('slow', 'b', 'behind');
  await world.plant(`update queue set ready_at = ready_at - interval '5 min'`);
  const signs: Signs = {
    alert: ['MusterSlowCalls', { handler: 'slow' }],
    finding: /^slow is behind: the oldest task is 5 min .*late\. All 1 calls that it may make at once are in flight/,
    explain: ['behind', /in flight of handler .* at their limit|found no free call/],
  };
  await expectSeen(world, signs);
  world.answer('slow', ok);
  await ends(world, 'behind', 'succeeded');
  await expectOver(world, signs);
});

test('tasks that are old: a handler may make too few calls at once', async () => {
  world.answer('slow', (tasks) => ({ ...(ok(tasks) as { status: number }), afterMs: 8_000 }));
  await world.submit('slow', 'a', 'only-call');
  await ends(world, 'only-call', 'in-progress');
  await world.submit('slow', 'b', 'old');
  await world.plant(`update queue set ready_at = ready_at - interval '11 min'`);
  const signs: Signs = {
    alert: ['MusterOldTasks', { handler: 'slow' }],
    finding: /^slow is behind: the oldest task is 1\d min .*late/,
    explain: ['old', /in flight of handler .* at their limit|found no free call/],
  };
  await expectSeen(world, signs);
  world.answer('slow', ok);
  await act(world, 'PATCH /v1/limits/slow', { concurrency: { perHandler: 5 } });
  await ends(world, 'old', 'succeeded');
  await ends(world, 'only-call', 'in-progress');
  await expectOver(world, signs);
});

test('a task that waits for another one, which does not end', async () => {
  await paused('stock');
  await act(world, 'POST /v1/handlers/orders/tasks', {
    tasks: [
      { id: 'stuck', payload: { to: 'stock' } },
      { id: 'held', payload: { to: 'd' }, dependsOn: ['stuck'] },
    ],
  });
  await world.plant(`update task set created_at = created_at - interval '61 min' where id = 'held'`);
  const signs: Signs = {
    alert: ['MusterHeldTasks', { handler: 'orders' }],
    finding: /^orders: 1 target paused/,
    explain: ['held', /It waits for a task to end: .*stuck/],
  };
  await expectSeen(world, signs);
  await act(world, 'POST /v1/tasks:cancel', { ids: ['held'] });
  await act(world, 'POST /v1/handlers/orders/targets/stock/resume');
  await expectOver(world, signs);
});

test('a hook that fails keeps a batch from being sent', async () => {
  world.answer('budget', () => ({ status: 500 }));
  await world.submit('orders', 'hooked', 'hooked');
  const signs: Signs = {
    alert: ['MusterHooksFail', { hook: 'beforeCall' }],
    explain: ['hooked', /the service of budgets answers 500/],
  };
  await expectSeen(world, signs);
  world.answer('budget', () => ({ status: 200 }));
  await ends(world, 'hooked', 'succeeded');
  await expectOver(world, signs);
});

test('a bulk action that stands', async () => {
  await paused('bulk');
  await world.submit('orders', 'bulk', 'for-bulk');
  // From its insert on: planted afterwards, a worker may have made it meanwhile.
  await world.plant(
    `create function stands() returns trigger language plpgsql as $$ begin
       new.due_at := clock() + interval '1 h'; new.changed_at := clock() - interval '2 min'; return new;
     end $$;
     create trigger stands before insert on bulk_action for each row execute function stands()`,
  );
  const { body } = await world.call('POST /v1/bulk', {
    body: { handler: 'orders', where: { target: 'bulk' }, action: { do: 'cancel' } },
  });
  const { id } = body as { id: string };
  await world.plant('drop trigger stands on bulk_action; drop function stands()');
  const signs: Signs = { alert: ['MusterBulkStands', {}] };
  await expectSeen(world, signs);
  await act(world, `POST /v1/bulk/${id}/stop`);
  await expectOver(world, signs);
  await act(world, 'POST /v1/handlers/orders/targets/bulk/resume');
});

test('a transaction that is never ended', async () => {
  const forgotten: Client = new PgClient({ connectionString: world.databaseUrl, application_name: 'report' });
  forgotten.on('error', () => undefined);
  await forgotten.connect();
  await forgotten.query('begin isolation level repeatable read');
  await forgotten.query('select pg_current_xact_id()');
  await moveClock('server_time', 'clock_timestamp()', '2 h');
  const signs: Signs = {
    alert: ['MusterOldTransaction', {}],
    finding: /^A transaction has been open for 2 h.*\. Of session \d+ of \w+ \(report\)/,
  };
  await expectSeen(world, signs);
  await forgotten.end();
  await moveClock('server_time', 'clock_timestamp()', '0 s');
  await expectOver(world, signs);
});

test('clocks that differ', async () => {
  await moveClock('clock', 'statement_timestamp()', '30 s');
  const signs: Signs = {
    alert: ['MusterClocksDiffer', { instance: 'api' }],
    finding: /^The clocks of the API and of the database differ by (29|30) s/,
  };
  await expectSeen(world, signs);
  await moveClock('clock', 'statement_timestamp()', '0 s');
  await expectOver(world, signs);
});

/** Pauses a target of `orders`, which must be known. */
const paused = async (target: string): Promise<void> => {
  await world.submit('orders', target, `first-of-${target}`);
  await ends(world, `first-of-${target}`, 'succeeded');
  await act(world, `POST /v1/handlers/orders/targets/${target}/pause`, { reason: 'stocktaking' });
};

/** Puts a clock of the store forward. */
const moveClock = (name: 'clock' | 'server_time', usual: string, by: string): Promise<void> =>
  world.plant(
    `create or replace function ${name}() returns timestamptz language sql stable as
      $$ select ${usual} + interval '${by}' $$`,
  );
