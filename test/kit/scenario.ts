import fc from 'fast-check';
import type { TaskInput } from '../../client';
import type { Batch, Handler, HandlerOptions, ItemResult } from '../../handlers';
import { defineHandler, LaterError, RejectedError } from '../../handlers';
import type { Later } from './asynchronous';
import { AsynchronousDownstream } from './asynchronous';

/** Scenarios of one handler: what is done to it at which time, and what its downstream answers. */

type Answer = 'ok' | 'retry' | 'retry-later' | 'failed' | 'unknown';

/** A task's payload, which also plays the downstream: the same in both worlds. */
export interface Cargo {
  to: string;
  key: string;
  bytes: number;
  weight: number;
  /** Of its calls one after the other; then ok. */
  answers: Answer[];
  /** How often a batch with it is refused for now, for its content, or has an unknown outcome. */
  later: number;
  poison: boolean;
  throws: number;
  /** What becomes of a batch whose first task it is, where batches are accepted. */
  accepted: Later;
}

interface Submitted {
  cargo: Cargo;
  priority: number;
  inMs: number | null;
  /** How many tasks before it those are that it depends on. */
  after: number[];
  runsAnyway: boolean;
}

export type Step =
  | { kind: 'submit'; tasks: Submitted[] }
  | { kind: 'advance'; ms: number }
  | { kind: 'complete' }
  | { kind: 'pause' | 'resume' | 'flush'; target: string | null }
  | { kind: 'set'; target: string; overrides: Record<string, number> | null };

export interface Scenario {
  options: Omit<Partial<HandlerOptions<Cargo>>, 'schema'>;
  /** Which of the two has the key of a cargo. */
  key: 'distinctBy' | 'coalesceBy' | null;
  /** The downstream accepts batches, and ends them later. */
  accepts: boolean;
  steps: Step[];
}

const TARGETS = ['se', 'no', 'dk'];
const times = { retries: 2_500, later: 2_700 };

export const cargo: fc.Arbitrary<Cargo> = fc.record({
  to: fc.constantFrom(...TARGETS),
  key: fc.constantFrom('a', 'b', 'c', 'd'),
  bytes: fc.integer({ min: 1, max: 40 }),
  weight: fc.integer({ min: 0, max: 4 }),
  answers: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Answer[]>([]) },
    {
      weight: 2,
      arbitrary: fc.array(fc.constantFrom<Answer>('retry', 'retry-later', 'failed', 'unknown'), { maxLength: 3 }),
    },
  ),
  later: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) }),
  poison: fc.oneof({ weight: 12, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  throws: fc.oneof({ weight: 14, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) }),
  accepted: fc.record({
    pending: fc.integer({ min: 0, max: 5 }),
    then: fc.oneof(
      { weight: 6, arbitrary: fc.constant('done' as const) },
      { weight: 3, arbitrary: fc.constantFrom('expired' as const, 'failed' as const, 'lost' as const) },
      { weight: 1, arbitrary: fc.constant('pending' as const) },
    ),
    missing: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) },
    ),
  }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('submit' as const),
      tasks: fc.array(
        fc.record({
          cargo,
          priority: fc.integer({ min: -1, max: 1 }),
          inMs: fc.option(fc.integer({ min: 1, max: 6_000 }), { freq: 4 }),
          after: fc.oneof(
            { weight: 4, arbitrary: fc.constant<number[]>([]) },
            { weight: 1, arbitrary: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }) },
          ),
          runsAnyway: fc.boolean(),
        }),
        { minLength: 1, maxLength: 6 },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('complete' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('pause' as const, 'resume' as const, 'flush' as const),
      target: fc.option(fc.constantFrom(...TARGETS)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      target: fc.constantFrom(...TARGETS),
      overrides: fc.option(
        fc.record({ maxItems: fc.integer({ min: 1, max: 4 }), lingerMs: fc.integer({ min: 0, max: 3_000 }) }),
      ),
    }),
  },
);

const options: fc.Arbitrary<Scenario['options']> = fc
  .record({
    maxItems: fc.integer({ min: 1, max: 5 }),
    maxBytes: fc.option(fc.integer({ min: 45, max: 120 })),
    maxWeight: fc.option(fc.integer({ min: 4, max: 9 })),
    minItems: fc.integer({ min: 1, max: 2 }),
    // Beyond what one batch may weigh.
    perTarget: fc.option(fc.integer({ min: 0, max: 3 }), { freq: 3 }),
    perHandler: fc.option(fc.integer({ min: 0, max: 6 }), { freq: 3 }),
    lingerMs: fc.integer({ min: 0, max: 4_000 }),
    quietPeriodMs: fc.option(fc.integer({ min: 100, max: 2_000 })),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    bisect: fc.boolean(),
    idempotency: fc.constantFrom('none' as const, 'batch' as const, 'task' as const),
    onUnknown: fc.constantFrom('park' as const, 'resend' as const),
  })
  .map((o) => ({
    limits: {
      ...{ maxItems: o.maxItems, minItems: Math.min(o.minItems, o.maxItems), overheadBytes: 2 },
      ...(o.maxBytes === null ? {} : { maxBytes: o.maxBytes }),
      ...(o.maxWeight === null ? {} : { maxWeight: o.maxWeight }),
      maxWeightInFlight: {
        ...(o.perTarget === null ? {} : { perTarget: (o.maxWeight ?? 4) + o.perTarget }),
        ...(o.perHandler === null ? {} : { perHandler: (o.maxWeight ?? 4) + o.perHandler }),
      },
    },
    linger: { lingerMs: o.lingerMs, ...(o.quietPeriodMs === null ? {} : { quietPeriodMs: o.quietPeriodMs }) },
    // No waits in the dispatch: those go by this process's clock.
    retry: { inPlace: { times: 0 }, delayed: { baseMs: times.retries, maxMs: 10_000 }, maxAttempts: o.maxAttempts },
    bisect: o.bisect,
    idempotency: o.idempotency === 'none' ? ('none' as const) : { by: o.idempotency },
    onUnknown: o.onUnknown,
  }));

/** An operator can name nothing to which no task has come yet. */
const steerable = (steps: readonly Step[]): Step[] => {
  const known = new Set<string>();
  return steps.filter((one) => {
    if (one.kind === 'submit') for (const { cargo: task } of one.tasks) known.add(task.to);
    return !('target' in one) || (one.target === null ? known.size > 0 : known.has(one.target));
  });
};

/**
 * Which of several targets gets the handler's weight first depends in the store on since when each
 * is written as due: there is one target then.
 */
const withOneTarget = (steps: readonly Step[]): Step[] =>
  steps.map((one) => {
    if (one.kind === 'submit')
      return { ...one, tasks: one.tasks.map((task) => ({ ...task, cargo: { ...task.cargo, to: TARGETS[0]! } })) };
    return 'target' in one && one.target !== null ? ({ ...one, target: TARGETS[0] } as Step) : one;
  });

const withoutWeightInFlight = <S extends Pick<Scenario, 'options'>>(one: S): S => {
  const { limits } = one.options;
  return { ...one, options: { ...one.options, limits: { ...limits!, maxWeightInFlight: {} } } };
};

export const scenario: fc.Arbitrary<Scenario> = fc
  .record({
    options,
    key: fc.constantFrom('distinctBy' as const, 'coalesceBy' as const, null),
    accepts: fc.boolean(),
    steps: fc.array(step, { minLength: 2, maxLength: 14 }),
  })
  // When a batch goes that waits for the weight of accepted ones is not simulated exactly.
  .map((one) => (one.accepts ? withoutWeightInFlight(one) : one))
  .map(({ steps, ...rest }) => {
    const { perTarget, perHandler } = rest.options.limits?.maxWeightInFlight ?? {};
    // A resume that ends a hold while batches wait that share the weight is not simulated exactly.
    const calm =
      perTarget === undefined && perHandler === undefined
        ? steps
        : steps.filter(({ kind }) => kind !== 'pause' && kind !== 'resume');
    return { ...rest, steps: steerable(perHandler === undefined ? calm : withOneTarget(calm)) };
  });

/** What a task of a scenario is submitted with, beside its time; `idOf`: of the nth task. */
export const inputOf = (
  { cargo: payload, priority, after, runsAnyway }: Submitted,
  place: number,
  idOf: (place: number) => string,
): TaskInput<Cargo> => ({
  ...{ id: idOf(place), payload, priority },
  dependsOn: after.filter((back) => back <= place).map((back) => idOf(place - back)),
  onDependencyFailure: runsAnyway ? 'run' : 'fail',
});

/** Returns the scenario's handler, with a downstream that remembers nothing of another one. */
export const handlerOf = (
  { options: given, key: by, accepts }: Scenario,
  name: string,
): { handler: Handler<Cargo>; downstream: AsynchronousDownstream<Cargo> } => {
  const downstream = new AsynchronousDownstream<Cargo>(({ tasks }) => tasks[0]!.payload.accepted);
  const refusals = new Map<string, number>();
  const isLeft = (id: string, what: 'later' | 'throws', n: number): boolean => {
    const before = refusals.get(`${what}/${id}`) ?? 0;
    refusals.set(`${what}/${id}`, before + 1);
    return before < n;
  };
  const handler = defineHandler<Cargo>({
    limits: { maxItems: 1 },
    ...given,
    name,
    target: ({ to }) => to,
    bytesOf: ({ bytes }) => bytes,
    weightOf: ({ weight }) => weight,
    ...(by === null ? {} : { [by]: ({ key }: Cargo) => key }),
    // One leader and one call at once: what several do at one instant has no order.
    leaders: 1,
    concurrency: { perTarget: 1, perHandler: 1 },
    ...(accepts ? downstream.options : {}),
    submit: async (batch) => {
      const results = resultsOf(batch, isLeft);
      return accepts ? downstream.accept(batch, results) : { results };
    },
  });
  return { handler, downstream };
};

export const resultsOf = (
  { tasks }: Batch<Cargo>,
  isLeft: (id: string, what: 'later' | 'throws', n: number) => boolean,
): ItemResult[] => {
  for (const { id, payload } of tasks) {
    if (payload.later > 0 && isLeft(id, 'later', payload.later))
      throw new LaterError('busy', { retryAfterMs: times.later });
    if (payload.throws > 0 && isLeft(id, 'throws', payload.throws)) throw new Error('no answer');
  }
  if (tasks.some(({ payload }) => payload.poison)) throw new RejectedError('poison');
  return tasks.map(({ id, payload, attempts }) => {
    const answer = payload.answers[attempts] ?? 'ok';
    if (answer === 'retry-later') return { id, status: 'retry', retryAfterMs: 4_000, error: 'later' };
    return { id, status: answer, ...(answer === 'ok' ? { result: id } : { error: answer }) };
  });
};

/** What happened, in both worlds in the same form. Times are ms since the beginning. */
export interface Story {
  batches: { atMs: number; target: string; reason: string; tasks: string[] }[];
  tasks: Record<string, { state: string; attempts: number; endedAtMs: number | null }>;
}

/**
 * Returns the story with the batches of one instant in an order that does not depend on which of
 * two settlements came first: on the store that is chance.
 */
export const inOrder = ({ batches, tasks }: Story): Story => {
  const placeOf = ({ target, tasks: ids, reason }: Story['batches'][number]): string => [target, reason, ...ids].join();
  return { batches: batches.toSorted((a, b) => a.atMs - b.atMs || (placeOf(a) < placeOf(b) ? -1 : 1)), tasks };
};

/** Long enough for every retry of every task. */
export const EPILOGUE_MS = 300_000;

/** A batch may have ended without its downstream, or be sent again under another reference. */
export const onlyStale = (error: unknown): void => {
  if (!['COMPLETION_STALE', 'NOT_FOUND'].includes((error as { code: string }).code)) throw error;
};
