import { spawn } from 'node:child_process';
import path from 'node:path';

/** The fan-out example in short: real queue, consumers killed in turns, acks twice, exactly one completion. The long form: `npm run example:fanout`. */

const RUN = path.join(__dirname, '..', '..', 'dist', 'examples', 'fanout', 'run.js');

const run = (args: readonly string[]): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [RUN, '--json', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-4_000)));
    child.once('error', reject);
    child.once('close', (code) => {
      const line = stdout.trim().split('\n').at(-1) ?? '';
      if (line.startsWith('{')) resolve({ ...(JSON.parse(line) as object), code });
      else reject(new Error(`no result; stderr ends with:\n${stderr}`));
    });
  });

test('under kills, redelivery and double acks: exactly one completion, all items acked', async () => {
  const result = await run(['--items', '60000', '--consumers', '3', '--kill-every', '50ms', '--visibility-ms', '1500']);
  expect(result).toMatchObject({ items: 60_000, state: 'complete', events: 1, messages: 1, messageUserKey: 'the million', isExactlyOnce: true, isWhole: true, code: 0 }); // prettier-ignore
  expect(result['kills']).toBeGreaterThan(0);
  expect(result['redelivered']).toBeGreaterThan(0);
  expect(result['idsAcked']).toBeGreaterThan(60_000);
}, 180_000);
