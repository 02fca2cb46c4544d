import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import { Downstream, items, okay } from './downstream';

/**
 * A batch that its submitter was granted and does not send: it goes back to its lane at once,
 * however long the submitter goes on with others; and the submitter ends.
 *
 * @slow
 */

const downstream = new Downstream();
let muster: TestMuster;
beforeEach(async () => {
  downstream.seen.length = 0;
  downstream.answer = okay;
  muster = await startMuster([downstream.handler({ timeoutMs: 20_000 })]);
});
afterEach(() => muster.stop());

/** What the store does with the first mark of the lane's batches, once. */
const onFirstMark = async (service: string, what: string): Promise<void> => {
  await muster.database.pool.query(`
create sequence marks;
create function on_mark() returns trigger language plpgsql as $$ begin
  if exists (select from target t where t.id = new.target_id and t.key = '${service}')
    and nextval('marks') = 1 then ${what} end if;
  return new;
end $$;
create trigger on_mark before update of attempt on batch for each row execute function on_mark()`);
};
const marks = async (): Promise<number> =>
  Number((await muster.database.pool.query('select last_value as n from marks')).rows[0].n);

test('a mark that came too late is taken back: its call is made now, and nothing is unknown [C29]', async () => {
  const { client } = muster;
  await client.submitBatch('edits', 'before', items('before'));
  await onFirstMark('late', 'perform pg_sleep(3);');
  const submittedAt = performance.now();
  const { batch } = await client.submitBatch('edits', 'late', items('late'));
  const call = await eventually(() => downstream.seen.find((seen) => seen.batch === batch), { timeoutMs: 15_000 });
  expect(call.at - submittedAt).toBeGreaterThan(3_000);
  await eventually(async () => (await client.batchStatus(batch))!.status === 'committed');
  expect(await marks()).toBe(2);
  await expectWhole(client);
});

test('a mark that was refused gives its batch back, while the other slots of its submitter call [C29]', async () => {
  const { client } = muster;
  let letGo: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => (letGo = resolve));
  downstream.answer = async (batch) => {
    if (batch.target === 'slow') await gone;
    return okay(batch);
  };
  // As of a submitter whose lease had passed, and that was not taken for dead yet.
  await onFirstMark('refused', 'return null;');
  try {
    await client.setQueuer({ slots: 8 });
    const [, refused] = await client.submitBatches('edits', [
      { service: 'slow', items: items('slow') },
      { service: 'refused', items: items('refused') },
    ]);
    await eventually(() => downstream.seen.some(({ batch }) => batch === refused!.batch), { timeoutMs: 8_000 });
    expect(downstream.inFlight).toBe(1);
    expect(await marks()).toBe(2);
  } finally {
    letGo();
  }
  await eventually(async () => (await client.lanes()).every(({ depth }) => depth === 0));
  await expectWhole(client);
});

test('a dispatch ends where the store takes longer for a sign of life than it waits for the next', async () => {
  const { client, database } = muster;
  let letGo: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => (letGo = resolve));
  downstream.answer = async (batch) => {
    await gone;
    return okay(batch);
  };
  await client.submitBatch('edits', 'slow', items('slow'));
  await eventually(() => downstream.inFlight === 1);
  await database.pool.query(`
create function on_sign() returns trigger language plpgsql as $$ begin perform pg_sleep(1.5); return new; end $$;
create trigger on_sign before update of expires_at on submitter for each row execute function on_sign()`);
  letGo();
  const left = async (): Promise<number | null> => (await database.pool.query('select from submitter')).rowCount;
  await eventually(async () => (await left()) === 0, { timeoutMs: 20_000, what: 'the end of the dispatch' });
});
