import { defineHandler } from '../../handlers';
import { monitorWorkflowId, notifierWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

let isDown = true;
const handler = defineHandler<object>({
  name: 'asked',
  target: () => 'one',
  leaders: 1,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: () => Promise.resolve({ status: 'accepted', reference: 'r-1' }),
  status: (references) =>
    isDown
      ? Promise.reject(new Error('the desk is closed'))
      : Promise.resolve(references.map((reference) => ({ reference, status: 'done' as const }))),
  results: () => Promise.resolve([{ id: 'one', status: 'ok' as const }]),
  poll: { everyMs: 1_000 },
});
let muster: TestMuster;
beforeAll(async () => void (muster = await startMuster([handler])));
afterAll(() => muster.stop());

test('the Web UI shows what looks of monitor and notifier did, and what a marker was', async () => {
  const temporal = await muster.client.temporal();
  const details = async (workflowId: string): Promise<string> =>
    (
      await temporal.workflow
        .getHandle(workflowId)
        .query<{ currentDetails: string }>('__temporal_workflow_metadata')
        .catch(() => ({ currentDetails: 'not there' }))
    ).currentDetails;
  const shows = (workflowId: string, text: RegExp): Promise<unknown> =>
    eventually(async () => text.test(await details(workflowId)), { what: () => details(workflowId) });
  await muster.client.submit('asked', { id: 'one', payload: {}, callback: { workflowId: 'nobody' } } as never);

  const monitor = monitorWorkflowId(muster.prefix, 'asked');
  await shows(
    monitor,
    /^\*\*Monitor of asked\*\*[^]*\n- next question in \d+ ms\n.* [1-9]\d* asked, 0 settled\n.*: .*the desk is closed/,
  );
  const query = `MusterHandler = 'asked' and WorkflowType = 'monitor' and TaskQueue = '${muster.prefix}'`;
  const isListed = async (): Promise<boolean> => {
    for await (const { workflowId } of temporal.workflow.list({ query })) return workflowId === monitor;
    return false;
  };
  await eventually(isListed);
  isDown = false;
  await muster.client.waitFor('one', { timeoutMs: 30_000 });
  await shows(monitor, /\n- nothing is due\n- this run: .* 1 settled\n/);
  await shows(
    notifierWorkflowId(muster.prefix),
    /^\*\*Notifier\*\*[^]*\n- nothing is due\n.* 0 delivered, 0 put off, 1 given up\n.*: .*nobody: not found/,
  );

  const { rows } = await muster.database.pool.query<{ id: number; name: string }>('select id, name from leader');
  const leader = temporal.workflow.getHandle(`${muster.prefix}/leader/asked/${rows[0]!.name}`);
  const { events } = await leader.fetchHistory();
  const marker = events!.find((event) => event.markerRecordedEventAttributes != null)!;
  expect(Buffer.from(marker.userMetadata?.summary?.data ?? []).toString()).toBe('"claims batches"');
});
