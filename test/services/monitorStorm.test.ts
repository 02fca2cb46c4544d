import type { Client as TemporalClient } from '@temporalio/client';
import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/**
 * Completions told all at once, each within its documented size: every one that the server accepted
 * is settled, no run is terminated. `MUSTER_STORMS=80x900000,9900x100 npx jest
 * test/services/monitorStorm.test.ts` measures others (how many, and their bytes).
 */
const SHORT = '6x900000,10x450000,100x100';
const storms = (process.env['MUSTER_STORMS'] ?? SHORT)
  .split(',')
  .map((storm) => storm.split('x').map(Number) as [number, number]);
const PATIENCE_MS = process.env['MUSTER_STORMS'] === undefined ? 240_000 : 540_000;

let muster: TestMuster;
let temporal: TemporalClient;
beforeAll(async () => {
  muster = await startMuster(
    ['signalled', 'started'].map((name) =>
      defineHandler<{ to: string }>({
        name,
        target: ({ to }) => to,
        limits: { maxItems: 1 },
        linger: { lingerMs: 10 },
        concurrency: { perTarget: 100, perHandler: 1_000 },
        submit: async (batch) => ({ status: 'accepted', reference: batch.tasks[0]!.id }),
      }),
    ),
  );
  temporal = await muster.client.temporal();
});
afterAll(() => muster.stop());

const count = async (sql: string, handler: string, storm: number): Promise<number> =>
  (await muster.database.pool.query<{ n: number }>(sql, [`${handler}-${storm}-%`])).rows[0]!.n;

type Told = { handler: string; reference: string; results: object[] };
const tell = {
  signalled: ({ handler, ...told }: Told) =>
    temporal.workflow.signalWithStart('monitor', {
      workflowId: `${muster.prefix}/monitor/${handler}`,
      taskQueue: muster.prefix,
      args: [{ handler }],
      signal: 'complete',
      signalArgs: [told],
    }),
  started: (told: Told) =>
    temporal.workflow.start('completion', {
      workflowId: `${muster.prefix}/completion/${told.handler}/${told.reference}`,
      taskQueue: muster.prefix,
      args: [told],
    }),
};

const cases = storms.flatMap(([n, bytes]) =>
  (['signalled', 'started'] as const).map((how) => [how, n, bytes] as const),
);
test.each(cases)(
  '%s: %d at once of %d bytes',
  async (how, n, bytes) => {
    const storm = cases.findIndex((one) => one[0] === how && one[1] === n && one[2] === bytes);
    const ids = Array.from({ length: n }, (_, i) => `${how}-${storm}-${i}`);
    await muster.client.submit(
      how,
      ids.map((id, i) => ({ id, payload: { to: `${storm}-${i % 20}` } })),
    );
    await eventually(
      async () => (await count('select count(*)::int as n from batch where reference like $1', how, storm)) === n,
      { timeoutMs: PATIENCE_MS },
    );
    const result = 'x'.repeat(bytes);
    const begun = performance.now();
    const told = await Promise.allSettled(
      ids.map((reference) => tell[how]({ handler: how, reference, results: [{ index: 0, status: 'ok', result }] })),
    );
    const toldMs = performance.now() - begun;
    const accepted = told.filter(({ status }) => status === 'fulfilled').length;
    const settled = (): Promise<number> =>
      count('select count(*)::int as n from task_state where state = 4 and id like $1', how, storm);
    const all = await eventually(async () => (await settled()) >= accepted, {
      timeoutMs: PATIENCE_MS,
      everyMs: 200,
      what: async () => `${accepted} accepted completions, ${await settled()} settled, runs: ${(await runs()).join()}`,
    }).catch((error: unknown) => error);
    const settledMs = performance.now() - begun;
    process.stderr.write(
      `[storm] ${how} ${n} x ${bytes}: accepted ${accepted} in ${Math.round(toldMs)} ms, settled ${await settled()} in ${Math.round(settledMs)} ms (${Math.round((accepted / settledMs) * 1_000)} a second); monitor's runs: ${(await runs()).join()}\n`,
    );
    if (all !== true) throw all;
    expect(accepted).toBe(n);
    expect(await runs()).not.toContain('TERMINATED');
    expect(await runs()).not.toContain('FAILED');
    await expectWhole(muster.client);
  },
  2 * PATIENCE_MS + 60_000,
);

const runs = async (): Promise<string[]> => {
  const found: string[] = [];
  for await (const { status } of temporal.workflow.list({ query: `WorkflowId = '${muster.prefix}/monitor/signalled'` }))
    found.push(status.name);
  return found;
};
