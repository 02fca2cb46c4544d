import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Outcome } from './report';

/** `npm run chaos` that is ended before its time. @slow */

const CHAOS = path.join(__dirname, '..', '..', '..', 'dist', 'test', 'chaos', 'systems', 'chaos.js');

test('after Ctrl-C no more faults begin, and what was done is judged', async () => {
  const args = '--only kill --minutes 20 --workers 2 --rate 20 --within 60000 --seed 3'.split(' ');
  const child = spawn(process.execPath, [CHAOS, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  const out = text(child.stdout);
  const said: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    said.push(line);
    if (line.includes('before any fault')) child.kill('SIGINT');
  });
  const [code] = (await closed) as [number | null];
  expect([code, said.filter((line) => /stopping/.test(line)).length]).toEqual([0, 1]);
  const outcome = JSON.parse(await out) as Outcome;
  expect(outcome).toMatchObject({ passed: true, verified: 'ok', failures: [] });
  expect(outcome.faults).toBeLessThanOrEqual(1);
  expect(outcome.balance.succeeded).toBe(outcome.balance.accepted);
  expect(outcome.balance.accepted).toBeGreaterThan(100);
});
