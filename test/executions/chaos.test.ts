import { execFile } from 'node:child_process';
import path from 'node:path';

/**
 * The short form of `npm run test:execution`, in its own processes with its own servers: it kills
 * those too. `chaos/systems/chaos.test.ts` has executions and runs in `npm test`.
 *
 * @full
 */
const CHAOS = path.join(__dirname, '..', '..', 'dist', 'test', 'executions', 'chaos', 'chaos.js');

test('nodes killed, stopped past their lease, Postgres and Temporal killed: every item ends 100 or -2, attempts never exceed the limit, no result of an old chunk counts [E5 E7 E10]', async () => {
  const { code, out, err } = await new Promise<{ code: number; out: string; err: string }>((resolve) => {
    execFile(
      process.execPath,
      [CHAOS, '--items', '1500', '--kills', '6', '--nodes', '3', '--seed', '3'],
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out: stdout, err: stderr }),
    );
  });
  if (code !== 0) throw new Error(err + out);
  const report = JSON.parse(out) as { struck: Record<string, number>; chunksClosed: number };
  expect(report).toMatchObject({ passed: true, items: 1500, wrong: { state: 0, attempts: 0, unrun: 0, foreign: 0 } });
  for (const kind of ['node', 'freeze', 'postgres', 'temporal']) expect(report.struck[kind]).toBeGreaterThan(0);
}, 240_000);
