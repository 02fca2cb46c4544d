import { setTimeout as sleep } from 'node:timers/promises';
import { connectTemporal } from '../../client/connectTemporal';
import { temporalAddress } from '../helpers/database';
import { startProxyOf } from '../helpers/proxy';

/** A client is closed while one of its calls waits to be tried again. */

test('a call that waits for its next try when its connection is closed fails, and nothing is thrown where no caller is', async () => {
  const proxy = await startProxyOf(`http://${temporalAddress()}`);
  const thrown: Error[] = [];
  const onThrown = (error: Error): void => void thrown.push(error);
  process.on('uncaughtException', onThrown);
  try {
    const { workflow, connection } = await connectTemporal({ address: `127.0.0.1:${proxy.port}` });
    proxy.refuse();
    proxy.reset();
    const call = workflow.getHandle('closed-channel').describe();
    const failed = call.then(
      () => 'answered',
      (error: Error) => String(error.cause),
    );
    await sleep(250); // the first try has failed by then, and the next ones are some 100 ms apart
    await connection.close();
    expect(await Promise.race([failed, sleep(10_000, 'neither answered nor failed')])).toContain(
      'Channel has been shut down',
    );
    expect(thrown).toEqual([]);
  } finally {
    process.off('uncaughtException', onThrown);
    await proxy.stop();
  }
});

test('calls are tried again as before: one that meets a lost connection is answered by the next', async () => {
  const proxy = await startProxyOf(`http://${temporalAddress()}`);
  try {
    const { connection } = await connectTemporal({ address: `127.0.0.1:${proxy.port}` });
    proxy.refuse();
    proxy.reset();
    const info = connection.workflowService.getSystemInfo({});
    await sleep(250);
    proxy.resume();
    expect((await info).serverVersion).toBeTruthy();
    await connection.close();
  } finally {
    await proxy.stop();
  }
});
