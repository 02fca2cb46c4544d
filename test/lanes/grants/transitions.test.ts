import { RejectedError } from '../../../handlers';
import { statusName } from '../../../workflows/planning/lanes/statuses';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { reachesStatus } from '../../helpers/reachesStatus';
import { expectWhole } from '../../helpers/whole';
import { mayBecome } from '../../planning/lanes/model/transitions';
import { Downstream, items, okay } from '../downstream';

/**
 * Each change of a status that a statement of the product makes, recorded by a trigger, is one that
 * the table of the model allows.
 */
const downstream = new Downstream();
let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([
    downstream.handler({ idempotency: 'none', lane: { onInvalid: 'halt', lookUps: 1 }, timeoutMs: 2_000 }),
    downstream.handler({
      name: 'accepting',
      target: () => 'accepting',
      submit: async (batch) => ({ status: 'accepted' as const, reference: `r-${batch.id}` }),
      status: async (references) => references.map((reference) => ({ reference, status: 'done' as const })),
      results: () => [{ index: 0, status: 'ok' as const }],
      poll: { everyMs: 100 },
    }),
  ]);
  await muster.database.pool.query(`
    create table moved (was smallint, became smallint, primary key (was, became));
    create function record_move() returns trigger language plpgsql as $$
    begin
      insert into moved values (old.status, new.status) on conflict do nothing;
      return null;
    end $$;
    create trigger record_move after update of status on lane_batch
    for each row when (old.status <> new.status) execute function record_move()`);
});
afterAll(() => muster.stop());

const moves = async (): Promise<string[]> => {
  const { rows } = await muster.database.pool.query<{ was: number; became: number }>('select * from moved');
  const named = rows.map(({ was, became }) => [statusName(was), statusName(became)] as const);
  expect(named.filter(([was, became]) => !mayBecome(was, became))).toEqual([]);
  return named.map(([was, became]) => `${was} -> ${became}`);
};

test('what the statements of the product do to a batch of a lane is what the table allows [C11 C20 C26]', async () => {
  downstream.answer = (batch, _, times) => {
    if (batch.target === 'later' && times === 0) return { status: 'later', retryAfterMs: 200 };
    if (batch.target === 'invalid') throw new RejectedError('no');
    if (batch.target === 'lost') throw new Error('connection reset');
    return okay(batch);
  };
  const { client } = muster;
  const submit = async (service: string, options = {}, handler = 'edits'): Promise<number> =>
    (await client.submitBatch(handler, service, items(service), options)).batch;

  for (const service of ['fine', 'later']) await reachesStatus(client, await submit(service), 'committed');
  await reachesStatus(client, await submit('accepting', {}, 'accepting'), 'committed');

  const invalid = await submit('invalid');
  const depends = await submit('depends', { dependsOn: [invalid] });
  await reachesStatus(client, invalid, 'invalid');
  await reachesStatus(client, depends, 'failed-dependency');

  const parked = await submit('lost');
  await reachesStatus(client, parked, 'parked');
  await client.skipHead('lost');
  await reachesStatus(client, parked, 'skipped');

  await client.pauseLane('fine');
  const cancelled = await submit('fine');
  await client.batches.cancel(cancelled);
  await reachesStatus(client, cancelled, 'cancelled');

  expect(await moves()).toEqual(
    expect.arrayContaining([
      'unsubmitted -> submitted',
      'submitted -> committed',
      'submitted -> pending',
      'pending -> committed',
      'submitted -> invalid',
      'unsubmitted -> failed-dependency',
      'parked -> skipped',
      'unsubmitted -> cancelled',
    ]),
  );
  await expectWhole(client);
});
