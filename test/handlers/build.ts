import type { Batch, CallContext, Contract, HandlerOptions, ResultSink, SubmitAnswer } from '../../handlers';
import { SILENT_LOG } from '../../handlers/logging/boundLog';
import { ConfigError } from '../../handlers';
import { parsePayload } from '../../handlers/contracts/schema';
import type { CallOutcome } from '../../workflows/planning/calls/plans';

/** A batch of tasks `t0`, `t1`, ... with these payloads. */
export const buildBatch = <P>(payloads: readonly P[], target = 'A'): Batch<P> => ({
  id: 'batch-1',
  handler: 'orders',
  target,
  tasks: payloads.map((payload, index) => ({ id: `t${index}`, payload, attempts: 0 })),
  epoch: 1,
  attempt: 1,
});

export const batchOf = (size: number): Batch<{ n: number }> =>
  buildBatch(Array.from({ length: size }, (_, n) => ({ n })));

export const buildContext = (overrides: Partial<CallContext> = {}): CallContext => ({
  signal: new AbortController().signal,
  idempotencyKey: 'key-1',
  deadline: Date.now() + 20_000,
  log: SILENT_LOG,
  ...overrides,
});

/** A sink that remembers. */
export function remember(): ResultSink & { readonly kept: Map<number, unknown> } {
  const kept = new Map<number, unknown>();
  return { kept, add: (index, result) => void kept.set(index, result) };
}

/** Options of a handler that only its `submit` makes interesting. */
export const options = (
  submit: (...args: Parameters<HandlerOptions['submit']>) => unknown,
  more: Partial<HandlerOptions> = {},
): HandlerOptions => ({
  name: 'orders',
  target: () => 'A',
  limits: { maxItems: 100 },
  submit: async (...args) => (await submit(...args)) as SubmitAnswer,
  ...more,
});

/** The problems of a configuration, as `path: message`. */
export function problemsIn(make: () => unknown): string[] {
  try {
    make();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

/** What the schema of a handler says against a payload, as `path: message`; nothing: it fits. */
export function faultsIn({ schema }: Pick<Contract, 'schema'>, payload: unknown): string[] {
  const parsed = parsePayload(schema, payload);
  return 'value' in parsed ? [] : parsed.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

export const errorIn = (outcome: { kind: string; error?: string } | CallOutcome): string =>
  'error' in outcome ? (outcome.error ?? '') : '';
