import { NativeConnection } from '@temporalio/worker';
import pino from 'pino';
import { defineHandler } from '../../../handlers';
import { handOverLeaders } from '../../../workers/temporal/handOver';
import { setCurrentVersion } from '../../../workers/temporal/versioning';
import { Requests } from '../../../workflows/temporal/requests';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { OwnMuster } from '../../workflows/ownNode';
import { openOwn } from '../../workflows/ownNode';

/**
 * Leaders of a version whose workers are gone, once another version is the current one. No sweeper.
 */

const plain = defineHandler<{ to: string }>({
  name: 'plain',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  leaders: 1,
  submit: ({ tasks }) => Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

let muster: OwnMuster;
let connection: NativeConnection;
beforeAll(async () => {
  muster = await openOwn([plain]);
  connection = await NativeConnection.connect({ address: temporalAddress() });
});
afterAll(async () => {
  await muster.stop();
  await connection.close();
});

/** Starts a worker of this version, which becomes the current one. */
const startVersion = async (buildId: string): Promise<() => Promise<void>> => {
  const versioning = { deploymentName: `handed-over-${muster.prefix}`, buildId };
  const stop = await muster.startNode({ versioning });
  await setCurrentVersion(connection, 'default', versioning, 'test');
  return stop;
};
const submit = (id: string, notBefore?: number): Promise<unknown> =>
  muster.client.submit('plain', { id, payload: { to: 'x' }, ...(notBefore === undefined ? {} : { notBefore }) });

test('a leader whose version no worker has any more is begun anew, and goes on with the current one', async () => {
  const { client, database, prefix } = muster;
  const stop = await startVersion('one');
  await submit('tomorrow', Date.now() + 86_400_000); // so that its leader waits
  const { workflow } = await client.temporal();
  const { workflowId } = await muster.leaderOf('plain');
  const first = await eventually(async () => {
    const { runId, historyLength } = await workflow.getHandle(workflowId).describe();
    return historyLength > 4 && runId;
  });
  await stop();
  await startVersion('two');
  await submit('now');
  const requests = new Requests(await client.temporal());
  const log = pino({ level: 'silent' });
  const options = { pool: database.pool, requests, prefix, node: 'another', log, stuck: { versionMs: 500 } };
  const enough = new AbortController();
  const handing = handOverLeaders(options, enough.signal);
  try {
    await eventually(async () => (await client.getTask('now'))?.state === 'succeeded', { timeoutMs: 25_000 });
    expect((await workflow.getHandle(workflowId).describe()).runId).not.toBe(first);
  } finally {
    enough.abort();
    await handing;
  }
});
