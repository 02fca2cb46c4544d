import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

const handler = defineHandler<{ to: string }>({
  name: 'shown',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 60_000 },
  submit: async (batch) => ({ results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) }),
});
let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([handler]);
});
afterAll(() => muster.stop());

test('the Web UI tells the story: a person finds a handler’s leaders, what they wait for, and their dispatches', async () => {
  await muster.client.submit('shown', { id: 'one', payload: { to: 'a' } });
  const temporal = await muster.client.temporal();
  const found = await eventually(async () => {
    for await (const workflow of temporal.workflow.list({
      query: `MusterHandler = 'shown' and TaskQueue = '${muster.prefix}'`,
    }))
      return workflow;
    return null;
  });
  expect(found.workflowId).toMatch(new RegExp(`^${muster.prefix}/leader/shown/[0-3]$`));
  const handle = temporal.workflow.getHandle(found.workflowId);
  expect(await (await handle.describe()).staticSummary()).toMatch(/^Leader of shown, set [0-3]$/);
  // A look finds what lingers, and tells it.
  await handle.signal('look');
  await eventually(async () =>
    /- waiting: 1 task of 1 target/.test(
      (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails,
    ),
  );
  await muster.client.submit(
    'shown',
    Array.from({ length: 9 }, (_, i) => ({ id: `more-${i}`, payload: { to: 'a' } })),
  );
  const status = await eventually(async () => {
    const answer = await handle
      .query<{ batches: number; tasks: number; epoch: number; lastReason: string | null }>('leaderStatus')
      .catch(() => null);
    return answer?.lastReason === 'size' && answer;
  });
  expect(status).toMatchObject({ epoch: 1, lastReason: 'size' });

  // The run ends; what it did stays to be read.
  const details = async (): Promise<string> =>
    (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
  await eventually(async () => /; idle\n/.test(await details()), { what: details });
  expect((await details()).split('\n')).toEqual([
    expect.stringMatching(/^\*\*shown\*\*, set `[0-3]`, as of \d{4}-\d\d-\d\dT[\d:.]+Z$/),
    '',
    expect.stringMatching(/^- epoch 1, turn \d+; idle$/),
    '- waiting: nothing',
    '- in flight: 0 dispatches',
    '- this run: 1 batch, 10 tasks; last flush reason: size',
  ]);
});
