import { Client } from '@temporalio/client';
import pino from 'pino';
import type { SilentRun } from '../../workers/sweeper/stuckRuns';
import { StuckRuns } from '../../workers/sweeper/stuckRuns';
import { connectTo, createDatabase, temporalAddress } from '../helpers/database';
import { Requests } from '../../workflows/temporal/requests';

test('among silent runs, those that more waits for are looked at before the leaders', async () => {
  const database = await createDatabase();
  const connection = await connectTo({ address: temporalAddress() });
  const looks: string[] = [];
  const { workflowService: service, workflow, options } = new Client({ connection });
  const describeWorkflowExecution = (request: { execution: { workflowId: string } }) => {
    looks.push(request.execution.workflowId);
    return service.describeWorkflowExecution(request);
  };
  const temporal = { workflow, options, workflowService: { describeWorkflowExecution } } as unknown as Client;
  const silent = (type: string, workflowId: string): SilentRun => ({
    ...{ type, workflowId, silentMs: 90_000, takesTurns: true },
    wake: () => Promise.resolve(),
  });
  const prefix = `order-${database.name}`;
  try {
    const leaders = Array.from({ length: 30 }, (_, i) => silent('leader', `${prefix}/leader/${i}`));
    const others = [silent('queuer', `${prefix}/queuer/0`), silent('notifier', `${prefix}/notifier`)];
    const stuck = new StuckRuns({
      pool: database.pool,
      requests: new Requests(temporal),
      prefix,
      node: 'sweeper',
      log: pino({ enabled: false }),
    });
    await stuck.look([...leaders, ...others]);
    expect(looks).toHaveLength(32);
    expect(looks.slice(0, 2)).toEqual(others.map(({ workflowId }) => workflowId));
    expect(looks.slice(2)).toEqual(leaders.map(({ workflowId }) => workflowId));
  } finally {
    await connection.close();
    await database.drop();
  }
});
