import fc from 'fast-check';
import type { Batch, Handler, HandlerOptions, ReconcileAnswer } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { AsynchronousDownstream } from '../asynchronous';
import type { Cargo } from '../scenario';
import { cargo, resultsOf } from '../scenario';

/** Scenarios of lanes: what is submitted to them, and done to them by hand, at which times. */

interface Given {
  to: string;
  cargoes: Cargo[];
  reads: string[];
  writes: string[];
  /** How many given batches before it those are that it depends on. */
  after: number[];
}

export type LaneStep =
  | { kind: 'submit'; cargoes: Cargo[] }
  | { kind: 'batches'; batches: Given[] }
  | { kind: 'advance'; ms: number }
  | { kind: 'complete' }
  | { kind: 'pause' | 'resume' | 'flush'; target: string | null }
  | { kind: 'pauseLane' | 'resumeLane' | 'skip' | 'applied' | 'again' | 'items' | 'lost'; service: string }
  | { kind: 'weight'; service: string; weight: number }
  | { kind: 'pauseAll' | 'resumeAll' }
  /** Of the nth last batch that was given. */
  | { kind: 'cancel'; back: number };

export interface LaneScenario {
  options: Omit<Partial<HandlerOptions<Cargo>>, 'schema'>;
  /** Tasks may be submitted without a batch. */
  hasService: boolean;
  accepts: boolean;
  reconciles: 'done' | 'absent' | 'unsure' | null;
  slots: number;
  strategy: 'single' | 'per-service' | 'one-round' | 'multi-round';
  steps: LaneStep[];
}

export const TARGETS = ['se', 'no', 'dk', 'fi'];
/** Two targets feed one lane. */
export const serviceOf = (target: string): string => (target === 'se' || target === 'no' ? 'west' : target);
const SERVICES = ['west', 'dk', 'fi'];

/** Eighths of a second: exact in seconds, so that no sum is a millisecond more on the store. */
const exactMs = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: Math.ceil(min / 125), max: Math.floor(max / 125) }).map((eighths) => eighths * 125);

const keys = fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 2 });
const given: fc.Arbitrary<Given> = fc.record({
  to: fc.constantFrom(...TARGETS),
  cargoes: fc.array(cargo, { minLength: 1, maxLength: 3 }),
  reads: keys,
  writes: keys,
  after: fc.oneof(
    { weight: 3, arbitrary: fc.constant<number[]>([]) },
    { weight: 1, arbitrary: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 2 }) },
  ),
});
const service = fc.constantFrom(...SERVICES);

const step: fc.Arbitrary<LaneStep> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('submit' as const),
      cargoes: fc.array(cargo, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('batches' as const),
      batches: fc.array(given, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: exactMs(1, 6_000) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('complete' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('pause' as const, 'resume' as const, 'flush' as const),
      target: fc.option(fc.constantFrom(...TARGETS)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(...(['pauseLane', 'resumeLane', 'skip', 'applied', 'again', 'items', 'lost'] as const)),
      service,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('weight' as const),
      service,
      weight: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('pauseAll' as const, 'resumeAll' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('cancel' as const), back: fc.integer({ min: 1, max: 4 }) }),
  },
);

const options: fc.Arbitrary<LaneScenario['options']> = fc
  .record({
    kind: fc.oneof(
      { weight: 4, arbitrary: fc.constant('non-guaranteed' as const) },
      { weight: 1, arbitrary: fc.constant('guaranteed' as const) },
    ),
    approach: fc.constantFrom('serial' as const, 'parallel' as const, 'unconstrained' as const),
    onInvalid: fc.constantFrom('continue' as const, 'halt' as const),
    dependencies: fc.constantFrom('held' as const, 'downstream' as const),
    pendingLimit: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 3 }),
    maxItems: fc.integer({ min: 3, max: 5 }),
    maxWeight: fc.option(fc.integer({ min: 12, max: 16 })),
    calls: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 2 }),
    perTarget: fc.option(fc.integer({ min: 1, max: 2 }), { freq: 2 }),
    weightInFlight: fc.option(fc.integer({ min: 20, max: 24 }), { freq: 3 }),
    lingerMs: exactMs(0, 4_000),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    bisect: fc.boolean(),
    idempotency: fc.constantFrom('none' as const, 'batch' as const, 'task' as const),
    onUnknown: fc.constantFrom('park' as const, 'resend' as const),
    keyed: fc.boolean(),
  })
  .map((o) => ({
    lane: {
      ...{ kind: o.kind, approach: o.approach, onInvalid: o.onInvalid, dependencies: o.dependencies },
      ...(o.pendingLimit === null ? {} : { pendingLimit: o.pendingLimit }),
    },
    limits: {
      ...{ maxItems: o.maxItems, overheadBytes: 2 },
      ...(o.maxWeight === null ? {} : { maxWeight: o.maxWeight }),
      ...(o.weightInFlight === null ? {} : { maxWeightInFlight: { perHandler: o.weightInFlight } }),
    },
    concurrency: {
      ...(o.calls === null ? {} : { perHandler: o.calls }),
      ...(o.perTarget === null ? {} : { perTarget: Math.min(o.perTarget, o.calls ?? o.perTarget) }),
    },
    linger: { lingerMs: o.lingerMs },
    retry: { inPlace: { times: 0 }, delayed: { baseMs: 2_500, maxMs: 10_000 }, maxAttempts: o.maxAttempts },
    bisect: o.bisect,
    idempotency: o.idempotency === 'none' ? ('none' as const) : { by: o.idempotency },
    onUnknown: o.onUnknown,
    // Equal keys need a lane that waits for commits.
    ...(o.keyed && (o.onInvalid === 'halt' || (o.kind === 'non-guaranteed' && o.approach !== 'unconstrained'))
      ? { distinctBy: ({ key }: Cargo) => key }
      : {}),
  }));

/** An operator names what work has come to, mostly: other names are refused, and nothing more. */
const steerable = (steps: readonly LaneStep[], hasService: boolean): LaneStep[] => {
  const known = new Set<string>();
  return steps.filter((one) => {
    if (one.kind === 'batches') for (const { to } of one.batches) known.add(to).add(serviceOf(to));
    if (one.kind === 'submit' && hasService) for (const { to } of one.cargoes) known.add(to).add(serviceOf(to));
    if ('service' in one) return known.has(one.service);
    return !('target' in one) || one.target === null || known.has(one.target);
  });
};

export const laneScenario: fc.Arbitrary<LaneScenario> = fc
  .record({
    options,
    hasService: fc.boolean(),
    accepts: fc.boolean(),
    reconciles: fc.constantFrom('done' as const, 'absent' as const, 'unsure' as const, null, null),
    slots: fc.integer({ min: 1, max: 4 }),
    strategy: fc.constantFrom('single', 'per-service', 'one-round', 'multi-round'),
    steps: fc.array(step, { minLength: 2, maxLength: 14 }),
  })
  .map((one) => ({ ...one, steps: steerable(one.steps, one.hasService) }));

/** One call of the downstream, as it saw it: the order of the calls is what lanes are for. */
export type SeenCall = [atMs: number, target: string, ids: string];

/** Returns the scenario's handler, with a downstream that remembers nothing of another one. */
export const laneHandlerOf = (
  { options: stated, hasService, accepts, reconciles }: LaneScenario,
  nowMs: () => number,
): { handler: Handler<Cargo>; downstream: AsynchronousDownstream<Cargo>; calls: SeenCall[] } => {
  const downstream = new AsynchronousDownstream<Cargo>(({ tasks }) => tasks[0]!.payload.accepted);
  const calls: SeenCall[] = [];
  const refusals = new Map<string, number>();
  const isLeft = (id: string, what: 'later' | 'throws', n: number): boolean => {
    const before = refusals.get(`${what}/${id}`) ?? 0;
    refusals.set(`${what}/${id}`, before + 1);
    return before < n;
  };
  const answerOf = (batch: Batch<Cargo>) => {
    const results = resultsOf(batch, isLeft);
    return accepts ? downstream.accept(batch, results) : { results };
  };
  const lookUp = async (batch: Batch<Cargo>): Promise<ReconcileAnswer> => {
    if (reconciles !== 'done') return { status: reconciles! };
    return { status: 'done', results: batch.tasks.map(({ id }) => ({ id, status: 'ok' })) };
  };
  const handler = defineHandler<Cargo>({
    limits: { maxItems: 1 },
    ...stated,
    name: 'cargo',
    target: ({ to }) => to,
    bytesOf: ({ bytes }) => bytes,
    weightOf: ({ weight }) => weight,
    ...(hasService ? { service: serviceOf } : {}),
    ...(accepts ? downstream.options : {}),
    ...(reconciles === null ? {} : { reconcile: lookUp, absentAfterMs: 0 }),
    submit: async (batch) => {
      calls.push([nowMs(), batch.target, batch.tasks.map(({ id }) => id).join(' ')]);
      return answerOf(batch);
    },
  });
  return { handler, downstream, calls };
};

/** What happened, in both worlds in the same form. Times are ms since the beginning. */
export interface LaneStory {
  calls: SeenCall[];
  /** What each step was refused with; null: it was not. */
  refusals: (string | null)[];
  batches: { atMs: number; target: string; reason: string; tasks: string[] }[];
  tasks: Record<string, { state: string; attempts: number; endedAtMs: number | null }>;
  lanes: Record<string, { state: string; reason: string | null; granted: number; open: string[] }>;
}

/** Numbers of batches differ in the two worlds. */
export const withoutNumbers = (text: string): string => text.replaceAll(/\d+/g, '#');
