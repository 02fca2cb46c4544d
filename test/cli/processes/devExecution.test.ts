import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '../../helpers/eventually';
import type { CliProcess } from '../process';
import { killLeftovers, runCli, startDev } from '../process';
import { makeFolder } from '../world';

/** @full */

/** Items after the third wait until the file `gate` is there. */
const CONFIG = `
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineFunction } from 'temporal-muster';
export const functions = [
  defineFunction({
    name: 'step',
    run: async ([n], { signal }) => {
      while (Number(n) > 3 && !existsSync('gate')) await sleep(50, undefined, { signal });
      return 'step ' + n;
    },
  }),
];
export const executions = { startupDelayMs: 1_000, leaseMs: 3_000, rollCallMs: 1_000 };
`;
const folder = makeFolder();
afterAll(() => {
  killLeftovers();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
});
const run = (args: string[], stdin = '') => runCli(args, { cwd: folder, stdin });
const start = async (): Promise<CliProcess> => {
  const dev = await startDev({ cwd: folder });
  await dev.says(/"ready":true/);
  return dev;
};
interface View {
  state: string;
  counts: { done: number };
}

test('without any server given, muster dev serves executions, and an open one survives that it is killed [E14 E7]', async () => {
  writeFileSync(path.join(folder, 'muster.config.ts'), CONFIG);
  const first = await start();
  const lists = Array.from({ length: 8 }, (_, i) => `["${i + 1}"]\n`).join('');
  const executed = await run(['execute', '--function', 'step', '--args-file', '-', '--json'], lists);
  const { request_id: id } = executed.json<{ request_id: string }>();
  const read = async (): Promise<View> => (await run(['execution', id, '--json'])).json<View>();
  await eventually(async () => (await read()).counts.done === 3, { what: async () => JSON.stringify(await read()) });

  first.child.kill('SIGKILL');
  await first.exit;
  writeFileSync(path.join(folder, 'gate'), '');
  const second = await start();
  const ended = await run(['execution', id, '--wait', '--timeout', '60s', '--json']);
  expect(ended).toMatchObject({ code: 0 });
  expect(await read()).toMatchObject({ state: 'done', counts: { done: 8 } });
  const items = (await run(['execution', id, '--items', 'all'])).lines<{ stdout: string; attempts: number }>();
  expect(items.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 8 }, (_, i) => `step ${i + 1}`));
  expect((await run(['verify', '--json'])).json<{ ok: boolean }>().ok).toBe(true);
  second.child.kill('SIGINT');
  expect(await second.exit).toBe(0);
});
