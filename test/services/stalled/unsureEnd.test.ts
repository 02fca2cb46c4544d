import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import pino from 'pino';
import { StuckRuns } from '../../../workers/sweeper/stuckRuns';
import { Requests } from '../../../workflows/temporal/requests';
import { connectTo, createDatabase, temporalAddress } from '../../helpers/database';

/** The server ends the run, and its answer does not come. */
class Unanswered extends Requests {
  override async send<T>(...args: Parameters<typeof Requests.prototype.send<T>>): Promise<T> {
    await super.send(...args);
    throw new Error('no answer in time');
  }
}

test('a stuck run that was told to end is logged, whether or not the server answers, and begun anew', async () => {
  const database = await createDatabase();
  const connection = await connectTo({ address: temporalAddress() });
  const client = new Client({ connection });
  const workflowId = `unsure-${randomUUID()}`;
  const lines: object[] = [];
  try {
    const { firstExecutionRunId: runId } = await client.workflow.start('queuer', { workflowId, taskQueue: workflowId });
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line) as object) });
    const requests = new Unanswered(client);
    const options = { pool: database.pool, requests, prefix: workflowId, node: 'sweeper', log };
    const stuck = new StuckRuns({ ...options, stuck: { attempts: 1 } }); // any task is one too many
    let woken = 0;
    const wake = async (): Promise<void> => void woken++;
    const silent = { type: 'queuer', workflowId, silentMs: 90_000, takesTurns: true, wake };
    await expect(stuck.look([silent])).rejects.toThrow('no answer in time');
    expect((await client.workflow.getHandle(workflowId).describe()).status.name).toBe('TERMINATED');
    expect(lines).toEqual([
      expect.objectContaining({
        msg: 'a stuck run was told to end, and the server did not say it has',
        err: expect.objectContaining({ message: 'no answer in time' }),
        ...{ type: 'queuer', workflowId, runId, reason: 'its workflow task failed or timed out 0 times' },
      }),
    ]);
    expect(woken).toBe(0);
    const later = performance.now() + 6_000;
    jest.spyOn(performance, 'now').mockReturnValue(later);
    await stuck.look([silent]);
    expect(woken).toBe(1); // it has ended
  } finally {
    jest.restoreAllMocks();
    await connection.close();
    await database.drop();
  }
});
