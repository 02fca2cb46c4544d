import { RejectedError } from '../../../handlers';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { reachesStatus } from '../../helpers/reachesStatus';
import { expectLanesPermitted, recordLaneMoves } from '../../helpers/transitions/recordedLanes';
import { expectWhole } from '../../helpers/whole';
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
  await recordLaneMoves(muster.database.pool);
});
afterAll(() => muster.stop());

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

  await expectLanesPermitted(muster.database.pool, [
    'unsubmitted -> submitted',
    'submitted -> committed',
    'submitted -> pending',
    'pending -> committed',
    'submitted -> invalid',
    'unsubmitted -> failed-dependency',
    'parked -> skipped',
    'unsubmitted -> cancelled',
  ]);
  await expectWhole(client);
});
