import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';

/**
 * The other side of the lanes, which knows nothing of Muster: applies batches, each once by its
 * key, and writes what it applied, in order, into a separate file. What it accepted to apply
 * later is in memory only: a kill loses it. Every call is written too. Can be told to hold a call
 * before or after its effect, so that the caller can be killed exactly there, and to wait for its
 * own death.
 */

interface Call {
  service: string;
  key: string;
  attempt: number;
  ids: string[];
  accept: boolean;
  /** The partition that the caller holds, and its epoch. */
  fence: { id: string; epoch: number } | null;
}
type HoldPoint = 'in-call' | 'after-effect' | 'downstream-restart';

const { runDir, port } = JSON.parse(process.argv[2]!) as { runDir: string; port: number };
const APPLIED = path.join(runDir, 'applied.ndjson');
const CALLS = path.join(runDir, 'calls.ndjson');
const COMMIT_MS = 10;
/**
 * The highest epoch of each partition that any call named. A lower one is refused: the downstream's
 * half of the fence.
 */
const epochs = new Map<string, number>(
  (existsSync(CALLS) ? readFileSync(CALLS, 'utf8') : '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Pick<Call, 'fence'>)
    .flatMap(({ fence }) => (fence === null ? [] : [[fence.id, fence.epoch] as const])),
);
const isStale = ({ fence }: Call): boolean => {
  if (fence === null) return false;
  const highest = epochs.get(fence.id) ?? 0;
  epochs.set(fence.id, Math.max(highest, fence.epoch));
  return fence.epoch < highest;
};
const applied = new Map<string, string[]>(
  (existsSync(APPLIED) ? readFileSync(APPLIED, 'utf8') : '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Call)
    .map(({ key, ids }) => [key, ids]),
);
/** By reference, which is the key. */
const accepted = new Map<string, Call>();
const inHand = new Map<string, Promise<void>>();
const waiting = new Map<string, () => void>();
let armed: { arm: HoldPoint; token: string } | null = null;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const write = (file: string, line: object): void => appendFileSync(file, `${JSON.stringify(line)}\n`);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

process.on('message', (order: { arm?: HoldPoint; token?: string; disarm?: true; go?: string }) => {
  if (order.arm !== undefined) armed = { arm: order.arm, token: order.token! };
  else if (order.disarm === true) armed = null;
  else if (order.go !== undefined) waiting.get(order.go)?.();
});
process.on('disconnect', () => process.exit(3));

const hold = async (point: HoldPoint, report: { worker?: number; live: number }): Promise<void> => {
  if (armed?.arm !== point) return;
  const { token } = armed;
  armed = null;
  const gone = new Promise<void>((resolve) => waiting.set(token, resolve));
  say({ point, token, ...report });
  await gone;
};

const apply = ({ service, key, ids, fence }: Call): void => {
  if (applied.has(key)) return;
  write(APPLIED, { service, key, ids, fence });
  applied.set(key, ids);
};

const results = (ids: readonly string[]) => ids.map((id) => ({ id, status: 'ok' }));

/** Null: refused, whoever calls does not hold the partition any more. */
const answer = async (call: Call, worker: number): Promise<unknown> => {
  const { key, service, attempt, ids, fence } = call;
  const refused = isStale(call);
  const open = [...accepted.values()].filter((other) => other.service === service && other.key !== key).length;
  write(CALLS, { key, service, attempt, worker, fence, refused, beside: open });
  if (refused) return null;
  if (applied.has(key)) return { results: results(applied.get(key)!) };
  await hold('in-call', { worker, live: ids.length });
  if (call.accept) {
    if (!accepted.has(key)) {
      accepted.set(key, call);
      setTimeout(
        () => {
          if (!accepted.delete(key)) return;
          apply(call);
        },
        COMMIT_MS * (1 + 4 * Math.random()),
      );
    }
    await hold('downstream-restart', { live: accepted.size });
    await hold('after-effect', { worker, live: ids.length });
    return { status: 'accepted', reference: key };
  }
  // A call that comes while the same one is in hand waits for its end: one effect.
  if (!inHand.has(key))
    inHand.set(
      key,
      sleep(Math.random() * COMMIT_MS).then(() => apply(call)),
    );
  await inHand.get(key);
  inHand.delete(key);
  await hold('after-effect', { worker, live: ids.length });
  return { results: results(ids) };
};

const statusOf = (reference: string): { reference: string; status: string } => ({
  reference,
  status: applied.has(reference) ? 'done' : accepted.has(reference) ? 'pending' : 'lost',
});

const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Call & { references: string[]; reference: string };
  const worker = Number(request.headers['x-worker']);
  response.setHeader('content-type', 'application/json');
  if (request.url === '/batches') {
    const answered = await answer(body, worker);
    if (answered === null) response.statusCode = 409;
    response.end(JSON.stringify(answered));
  } else if (request.url === '/status') response.end(JSON.stringify(body.references.map(statusOf)));
  else response.end(JSON.stringify(results(applied.get(body.reference) ?? [])));
};

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.destroy()); // the caller died while it spoke
});
server.listen(port, '127.0.0.1', () => say({ ready: true, port: (server.address() as { port: number }).port }));
