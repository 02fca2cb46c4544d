import { setTimeout as sleep } from 'node:timers/promises';
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { connectTemporal } from '../../client/connectTemporal';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { Proxy } from '../helpers/proxy';
import { startProxyOf } from '../helpers/proxy';

/** A client is closed while one of its calls waits to be tried again. */

/** Through the proxy, with interceptors of the caller's that count the tries. */
const connected = async (proxy: Proxy) => {
  const tries = { count: 0 };
  const retry = makeGrpcRetryInterceptor(defaultGrpcRetryOptions());
  const counting: typeof retry = (options, nextCall) => {
    tries.count++;
    return nextCall(options) as ReturnType<typeof retry>;
  };
  const client = await connectTemporal({
    address: `127.0.0.1:${proxy.port}`,
    connection: { interceptors: [retry, counting] },
  });
  tries.count = 0;
  return { client, tries };
};

test('a call that waits for its next try when its connection is closed fails, and nothing is thrown where no caller is', async () => {
  const proxy = await startProxyOf(`http://${temporalAddress()}`);
  const thrown: Error[] = [];
  const onThrown = (error: Error): void => void thrown.push(error);
  process.on('uncaughtException', onThrown);
  try {
    const { client, tries } = await connected(proxy);
    const { workflow, connection } = client;
    proxy.refuse();
    proxy.reset();
    const call = workflow.getHandle('closed-channel').describe();
    const failed = call.then(
      () => 'answered',
      (error: Error) => String(error.cause),
    );
    // The waits between tries grow: the next one is about half a second away.
    await eventually(() => tries.count >= 4, { everyMs: 5 });
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
    const {
      client: { connection },
      tries,
    } = await connected(proxy);
    proxy.refuse();
    proxy.reset();
    const info = connection.workflowService.getSystemInfo({});
    await eventually(() => tries.count >= 2, { everyMs: 5 });
    proxy.resume();
    expect((await info).serverVersion).toBeTruthy();
    await connection.close();
  } finally {
    await proxy.stop();
  }
});
