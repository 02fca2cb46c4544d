import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { portFlag, processFlags, textFlag } from '../support/flags';
import { lines } from '../support/lines';
import { onEnd, runMain } from '../support/server';
import { createSqsClient } from './handler';
import { installMoto } from './motoInstall';

/** Ends when its stdin ends, that is with us, however we end. */
const MOTO_MAIN = `
import json, logging, sys
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer("127.0.0.1", int(sys.argv[1]), verbose=False)
server.start()
print(json.dumps({"port": server.get_host_and_port()[1]}), flush=True)
sys.stdin.read()
`;

/**
 * An SQS-compatible server on loopback: installs moto on first use, starts it (`--port 0` = any
 * free one), creates `--queues a,b` and prints `{"ready":true,"port":N}`.
 */
async function main(): Promise<void> {
  const flags = processFlags(
    {
      name: 'node dist/examples/sqs/server.js',
      summary: 'An SQS-compatible server (moto, installed on first use) on 127.0.0.1. Prints {"ready":true,"port":N}.',
      examples: ['--port 4488 --queues orders,mails'],
    },
    { port: portFlag(), queues: textFlag('orders,mails', { text: 'queues it begins with', as: 'name,name,...' }) },
  );
  const { python, packages } = await installMoto();
  const moto = spawn(python, ['-c', MOTO_MAIN, String(flags.port)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONPATH: packages },
  });
  moto.stdin.on('error', () => undefined);
  let ending = false;
  const gone = once(moto, 'exit');
  moto.once('exit', (code, signal) => {
    if (!ending) {
      process.stderr.write(`moto ended by itself, with ${signal ?? `exit code ${code}`}\n`);
      process.exit(1);
    }
  });
  onEnd(async () => {
    ending = true;
    moto.kill('SIGTERM');
    await gone;
  });
  const port = await portOf(moto.stdout);
  const client = createSqsClient({ region: 'us-east-1', endpoint: `http://127.0.0.1:${port}` });
  for (const QueueName of flags.queues.split(',').filter((name) => name !== '')) {
    await client.send(new CreateQueueCommand({ QueueName }));
  }
  client.destroy();
  process.stdout.write(`${JSON.stringify({ ready: true, port })}\n`);
}

async function portOf(stdout: AsyncIterable<Uint8Array>): Promise<number> {
  for await (const line of lines(stdout)) {
    return (JSON.parse(line) as { port: number }).port;
  }
  throw new Error('moto ended before it was ready; its own words are above');
}

runMain(main);
