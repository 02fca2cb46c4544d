import type { Client as TemporalClient } from '@temporalio/client';
import { defineHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/**
 * Completions told all at once, each within its documented size: every one that the server accepted
 * is settled, by a monitor that continues as new in time; and also when its run was ended with all
 * of them unread. With `MUSTER_STORMS=80x900000,9900x100` it measures others: how many, and their
 * bytes.
 *
 * @full
 */
const SHORT = '10x900000,100x100';
const storms = (process.env['MUSTER_STORMS'] ?? SHORT)
  .split(',')
  .map((storm) => storm.split('x').map(Number) as [number, number]);
const TIMEOUT_MS = process.env['MUSTER_STORMS'] === undefined ? 240_000 : 540_000;

let muster: TestMuster;
let temporal: TemporalClient;
beforeAll(async () => {
  muster = await startMuster(
    ['signalled', 'started', 'ended'].map((name) =>
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
const signal = ({ handler, ...told }: Told, taskQueue: string) =>
  temporal.workflow.signalWithStart('monitor', {
    workflowId: `${muster.prefix}/monitor/${handler}`,
    taskQueue,
    args: [{ handler }],
    signal: 'complete',
    signalArgs: [told],
  });
const tell = {
  signalled: (told: Told) => signal(told, muster.prefix),
  /** To runs that no worker ever takes up; a server ends one by itself at 50 MB. */
  ended: (told: Told) => signal(told, `${muster.prefix}-unserved`),
  started: (told: Told) =>
    temporal.workflow.start('completion', {
      workflowId: `${muster.prefix}/completion/${told.handler}/${told.reference}`,
      taskQueue: muster.prefix,
      args: [told],
    }),
};

const cases = storms.flatMap(([n, bytes]) =>
  (['signalled', 'started', 'ended'] as const).map((how) => [how, n, bytes] as const),
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
      { timeoutMs: TIMEOUT_MS },
    );
    // The run that acceptances began is served.
    if (how === 'ended')
      await temporal.workflow
        .getHandle(`${muster.prefix}/monitor/ended`)
        .terminate()
        .catch(() => undefined);
    const result = 'x'.repeat(bytes);
    const begun = performance.now();
    const told = await Promise.allSettled(
      ids.map((reference) => tell[how]({ handler: how, reference, results: [{ index: 0, status: 'ok', result }] })),
    );
    const toldMs = performance.now() - begun;
    const accepted = told.filter(({ status }) => status === 'fulfilled').length;
    if (how === 'ended') await temporal.workflow.getHandle(`${muster.prefix}/monitor/ended`).terminate('an operator');
    const settled = (): Promise<number> =>
      count('select count(*)::int as n from task_state where state = 4 and id like $1', how, storm);
    const all = await eventually(async () => (await settled()) >= accepted, {
      timeoutMs: TIMEOUT_MS,
      everyMs: 200,
      what: async () =>
        `${accepted} accepted completions, ${await settled()} settled, runs: ${(await runs(how)).join(', ')}`,
    }).catch((error: unknown) => error);
    const settledMs = performance.now() - begun;
    process.stderr.write(
      `[storm] ${how} ${n} x ${bytes}: accepted ${accepted}${refusals(told)} in ` +
        `${Math.round(toldMs)} ms, settled ${await settled()} in ${Math.round(settledMs)} ms ` +
        `(${Math.round((accepted / settledMs) * 1_000)} a second); monitor's runs: ` +
        `${(await runs(how)).join(', ')}\n`,
    );
    if (all !== true) throw all;
    // Beyond 50 MB or 10,000 signals a server ends a run before a worker comes to it, and refuses
    // what comes at that moment: with an error.
    if (n * bytes > 20_000_000 || n > 9_000) return expectWhole(muster.client);
    expect(accepted).toBe(n);
    if (how !== 'ended') expect((await runs(how)).join()).not.toMatch(/TERMINATED|FAILED|TIMED_OUT|CANCELLED/);
    await expectWhole(muster.client);
  },
  2 * TIMEOUT_MS + 60_000,
);

const refusals = (told: readonly PromiseSettledResult<unknown>[]): string => {
  const reasons = told.flatMap((one) =>
    one.status === 'rejected' ? [String((one.reason as Error).cause ?? one.reason)] : [],
  );
  return reasons.length === 0 ? '' : ` (refused: ${[...new Set(reasons)].join('; ')})`;
};
/**
 * The monitor's runs: how each ended, of how many events and bytes; an ended one that continued as
 * new did so for its size.
 */
const runs = async (how: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = '${muster.prefix}/monitor/${how}'` })) {
    const handle = temporal.workflow.getHandle(`${muster.prefix}/monitor/${how}`, runId);
    const { status, historyLength, raw } = await handle.describe();
    const bytes = Number(raw.workflowExecutionInfo?.historySizeBytes ?? 0);
    found.push(`${status.name} (${historyLength} events, ${Math.round(bytes / 1_000)} kB)`);
  }
  return found;
};
