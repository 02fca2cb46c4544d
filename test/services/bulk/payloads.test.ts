import { randomBytes } from 'node:crypto';
import { codecOf } from '../../../examples/codec/aesGcmCodec';
import { defineHandler } from '../../../handlers';
import type { BulkView } from '../../../client';
import { isBulkOver } from '../../../workflows/planning/bulk/states';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/** Payloads that a worker changes, and what it sends of them, with a codec. */

interface Job {
  to: string;
  note: string;
}
const calls: Job[][] = [];
const jobs = defineHandler<Job>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 10, maxBytes: 100 },
  linger: { lingerMs: 3_600_000 },
  submit: async ({ tasks }) => {
    calls.push(tasks.map(({ payload }) => payload));
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});

let muster: TestMuster;
beforeAll(async () => {
  const payloadCodec = codecOf(`k1:${randomBytes(32).toString('base64')}`);
  muster = await startMuster([jobs], { sweepEveryMs: 200, payloadCodec });
});
afterAll(() => muster.stop());

const patched = async (target: string, payloadPatch: Record<string, unknown>): Promise<BulkView> => {
  const { bulk } = muster.client;
  const { id } = await bulk.start({ handler: 'jobs', where: { target }, action: { do: 'update', payloadPatch } });
  return eventually(async () => {
    const view = (await bulk.get(id))!;
    return isBulkOver(view.state) && view;
  });
};
const callsOf = async (target: string, ids: string[]): Promise<Job[][]> => {
  await muster.client.flush('jobs');
  await muster.client.waitFor(ids, { timeoutMs: 60_000 });
  return calls.filter(([first]) => first!.to === target);
};

test('two tasks that grow no longer fit one batch; two that are left alone do', async () => {
  const job = (id: string, to: string) => ({ id, payload: { to, note: 'n'.repeat(20) } });
  await muster.client.submit('jobs', [job('a', 'se'), job('b', 'se'), job('c', 'no'), job('d', 'no')]);
  const note = 'x'.repeat(50);
  expect(await patched('se', { note })).toMatchObject({ state: 'done', done: 2, failed: 0 });
  expect((await patched('no', { note: 'x'.repeat(100) })).failures).toEqual({
    'the handler refuses the new payload: correct the patch': 2,
  });
  expect(await callsOf('se', ['a', 'b'])).toEqual([[{ to: 'se', note }], [{ to: 'se', note }]]);
  expect((await callsOf('no', ['c', 'd'])).map((batch) => batch.length)).toEqual([2]);
  await expectWhole(muster.client);
});

test('also a worker without the sweeper’s lease does it, whose holder may lack the handler', async () => {
  await muster.database.pool.query(`
update lease set holder = 'other', epoch = epoch + 1, expires_at = clock() + interval '1 hour'
where resource = 'sweeper'`);
  await muster.client.submit('jobs', { id: 'e', payload: { to: 'fi', note: 'n' } });
  let n = 0;
  // A round that began with the lease may make both; only one without it leaves the older action.
  await eventually(async () => {
    const action = { do: 'update', priority: ++n } as const;
    const other = await muster.client.bulk.start({ handler: 'jobs', where: { target: 'fi' }, action });
    expect(await patched('fi', { note: `m${n}` })).toMatchObject({ state: 'done', done: 1 });
    return (await muster.client.bulk.get(other.id))!.state === 'counting';
  });
  expect(await callsOf('fi', ['e'])).toEqual([[{ to: 'fi', note: `m${n}` }]]);
});
