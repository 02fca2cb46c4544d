import { readFileSync } from 'node:fs';
import {
  callHandler,
  type Batch,
  type CallContext,
  type Handler,
  type ItemResult,
  type Results,
  type SubmitAnswer,
} from '../../handlers';
import { type ChildOptions, type ExampleProcess, startChild } from '../../examples/support/child';
import { distPath, sourcePath } from './paths';

/**
 * Starts examples and ends all of them, whatever the tests did: `afterAll(() =>
 * examples.stopAll())`.
 */
export class Examples {
  private readonly started: ExampleProcess[] = [];

  /** `script` without `.js`, such as `demo/downstream`. */
  async start(script: string, args: string[] = [], options: ChildOptions = {}): Promise<ExampleProcess> {
    const child = await startChild(distPath(`examples/${script}.js`), args, options);
    this.started.push(child);
    return child;
  }

  /** A proxy before `target` that loses the answer of every `every`th call that matches. */
  lossyProxy(target: string, every: number, match = ''): Promise<ExampleProcess> {
    return this.start('support/lossyProxy', ['--target', target, '--every', String(every), '--match', match]);
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.started.map((child) => child.stop()));
  }
}

let batches = 0;

/** A batch of these payloads; task ids are `<prefix>-0`, `<prefix>-1`, ... unless given. */
export function buildBatch<P>(
  handler: Handler<P>,
  payloads: readonly P[],
  ids: (index: number) => string = (index) => `task-${index}`,
): Batch<P> {
  const [first] = payloads;
  if (first === undefined) {
    throw new Error('payloads: expected at least one, got none');
  }
  batches += 1;
  const tasks = payloads.map((payload, index) => ({ id: ids(index), payload, attempts: 0 }));
  return { id: `batch-${batches}`, handler: handler.name, target: handler.target(first), tasks, epoch: 1, attempt: 1 };
}

export function buildContext(idempotencyKey = `key-${Math.random()}`, timeoutMs = 30_000): CallContext {
  const signal = AbortSignal.timeout(timeoutMs);
  return { signal, idempotencyKey, deadline: Date.now() + timeoutMs, log: console };
}

/**
 * What Muster makes of one call, whether the handler answers or throws: rejected, later, halted,
 * unknown, accepted or results.
 */
export function outcomeOf<P>(handler: Handler<P>, batch: Batch<P>, context = buildContext()) {
  return callHandler(handler, batch, context, { add: () => undefined });
}

export async function collect(results: Results | Promise<Results>): Promise<ItemResult[]> {
  const all: ItemResult[] = [];
  for await (const result of await results) {
    all.push(result);
  }
  return all;
}

/** The results of an answer that has them. */
export async function resultsOf(answer: SubmitAnswer): Promise<ItemResult[]> {
  if (!('results' in answer)) {
    throw new Error(`answer: expected results, got ${JSON.stringify(answer)}`);
  }
  return collect(answer.results);
}

export function referenceOf(answer: { status?: string } | { results: Results }): string {
  const { status, reference } = answer as { status?: string; reference?: string };
  if (status !== 'accepted' || reference === undefined) {
    throw new Error(`answer: expected accepted, got ${JSON.stringify(answer)}`);
  }
  return reference;
}

/** How many of each status. */
export function countByStatus(results: readonly ItemResult[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of results) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** What a promise rejects with; a promise that fulfils is an error of the test. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { options?: { retryAfterMs?: number } }> {
  const value = await promise.then(
    (got) => ({ got }),
    (error: unknown) => ({ error: error as Error }),
  );
  if ('got' in value) {
    throw new Error(`expected a rejection, got ${JSON.stringify(value.got)}`);
  }
  return value.error;
}

export async function getJson<T>(url: string): Promise<T> {
  const response = await fetch(url);
  return (await response.json()) as T;
}

/** Asks until the answer is good; fails with the last answer after `withinMs`. */
export async function until<T>(ask: () => Promise<T>, isGood: (answer: T) => boolean, withinMs = 20_000): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (isGood(answer)) {
      return answer;
    }
    if (Date.now() > end) {
      throw new Error(`not within ${withinMs} ms; the last answer was ${JSON.stringify(answer)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The tasks of an example's NDJSON file. */
export function sampleTasks<P>(path: string): { id: string; payload: P }[] {
  const rows = readFileSync(sourcePath(path), 'utf8').trim().split('\n');
  return rows.map((row) => JSON.parse(row) as { id: string; payload: P });
}

export async function collectText(chunks: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) {
    all.push(chunk);
  }
  return Buffer.concat(all).toString();
}
