import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';

/**
 * The other side, which knows nothing of Muster: takes batches over HTTP, writes every call and
 * every effect into files of its own, and answers a repeated idempotency key as it did the first
 * time, without a second effect. Can be told to hold a call before its effect, or between the
 * effect and the answer, so that the caller can be killed exactly there.
 */

interface Call {
  handler: string;
  batch: string;
  attempt: number;
  key?: string;
  tasks: { id: string; n: number; from: string }[];
}
type HoldPoint = 'in-call' | 'after-effect';

const { runDir } = JSON.parse(process.argv[2]!) as { runDir: string };
const answers = new Map<string, Promise<string>>();
const waiting = new Map<string, () => void>();
let armed: { arm: HoldPoint; token: string } | null = null;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const write = (file: string, lines: object[]): void =>
  appendFileSync(path.join(runDir, file), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

process.on('message', (order: { arm?: HoldPoint; token?: string; disarm?: true; go?: string }) => {
  if (order.arm !== undefined) armed = { arm: order.arm, token: order.token! };
  else if (order.disarm === true) armed = null;
  else if (order.go !== undefined) waiting.get(order.go)?.();
});
process.on('disconnect', () => process.exit(3));

const hold = async (point: HoldPoint, worker: number, live: number): Promise<void> => {
  if (armed?.arm !== point) return;
  const { token } = armed;
  armed = null;
  const gone = new Promise<void>((resolve) => waiting.set(token, resolve));
  say({ point, token, worker, live });
  await gone;
};

/** 10 to 50 ms of work, then the effect: one line a task. */
const take = async (call: Call, worker: number): Promise<string> => {
  await sleep(10 + Math.random() * 40);
  await hold('in-call', worker, call.tasks.length);
  const { handler, batch, attempt, key } = call;
  write(
    'effects.ndjson',
    call.tasks.map(({ id, n, from }, place) => ({ id, n, from, place, handler, batch, attempt, key })),
  );
  await hold('after-effect', worker, call.tasks.length);
  return JSON.stringify({ results: call.tasks.map(({ id }) => ({ id, status: 'ok' })) });
};

const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const call = JSON.parse(Buffer.concat(chunks).toString()) as Call;
  const { handler, batch, attempt, key, tasks } = call;
  const known = key === undefined ? undefined : answers.get(key);
  const worker = Number(request.headers['x-worker']);
  const ids = tasks.map(({ id }) => id);
  write('calls.ndjson', [
    { handler, batch, attempt, key, replayed: known !== undefined, ids, worker, atMs: Date.now() },
  ]);
  const answer = known ?? take(call, worker);
  if (key !== undefined) answers.set(key, answer);
  response.setHeader('content-type', 'application/json');
  response.end(await answer);
};

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.destroy()); // the caller died while it spoke
});
server.listen(0, '127.0.0.1', () => say({ ready: true, port: (server.address() as { port: number }).port }));
