import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';

export const LANE_PREFIX = 'bench-queuer';
/** Answers at once; or accepts at once, and is done when it is first asked. */
export type FlowKind = 'answers' | 'accepts';

/**
 * Serial lanes over a downstream that takes no time at all, in the worker's own process: what is
 * left is Muster.
 */
export const flowHandler = (kind: FlowKind): Handler => {
  const items = new Map<string, { id: string; status: 'ok' }[]>();
  const resultsOf = (tasks: readonly { id: string }[]) => tasks.map(({ id }) => ({ id, status: 'ok' as const }));
  const common = {
    name: kind,
    target: ({ service }: { service: string }) => service,
    lane: { approach: 'serial' as const },
    limits: { maxItems: 10 },
    idempotency: { by: 'batch' as const },
  };
  if (kind === 'answers')
    return defineHandler<{ service: string }>({
      ...common,
      submit: ({ tasks }) => Promise.resolve({ results: resultsOf(tasks) }),
    });
  return defineHandler<{ service: string }>({
    ...common,
    poll: { everyMs: 50, deadlineMs: 60_000 },
    submit: ({ id, tasks }) => {
      items.set(id, resultsOf(tasks));
      return Promise.resolve({ status: 'accepted' as const, reference: id });
    },
    status: (references) => Promise.resolve(references.map((reference) => ({ reference, status: 'done' as const }))),
    results: (reference) => {
      const found = items.get(reference)!;
      items.delete(reference);
      return Promise.resolve(found);
    },
  });
};
