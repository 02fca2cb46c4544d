import type {
  BatchLimits,
  CutInput,
  CutPlan,
  SettlementContext,
  WaitingTask,
} from '../../workflows/planning/calls/plans';

/** Valid values with defaults, so that a test shows only what it is about. */
export const buildTask = (task: Partial<WaitingTask> & { seq: number }): WaitingTask => ({
  bytes: 10,
  weight: 1,
  readyAtMs: 0,
  key: null,
  ...task,
});

export const buildTasks = (count: number, task: Partial<WaitingTask> = {}): WaitingTask[] =>
  Array.from({ length: count }, (_, at) => buildTask({ ...task, seq: at + 1 }));

const buildLimits = (limits: Partial<BatchLimits> = {}): BatchLimits => ({
  maxItems: 3,
  overheadBytes: 0,
  minItems: 1,
  lingerMs: 1_000,
  ...limits,
});

export const buildCut = (input: Partial<Omit<CutInput, 'limits'>> & { limits?: Partial<BatchLimits> }): CutInput => ({
  tasks: [],
  more: false,
  flushSeq: null,
  busyKeys: new Map(),
  maxBatches: Infinity,
  weightLeft: Infinity,
  ...input,
  limits: buildLimits(input.limits),
});

export const seqsOf = (plan: CutPlan): number[][] => plan.batches.map((batch) => batch.seqs);

/**
 * What is left after the plan was applied: its tasks are gone from the queue and hold their keys.
 */
export const afterCut = (input: CutInput, plan: CutPlan): CutInput => {
  const taken = new Set(plan.batches.flatMap((batch) => batch.seqs));
  const held = input.tasks.filter((task) => taken.has(task.seq) && task.key !== null);
  return {
    ...input,
    tasks: input.tasks.filter((task) => !taken.has(task.seq)),
    busyKeys: new Map([...input.busyKeys, ...held.map((task): [string, number] => [task.key!, task.seq])]),
    maxBatches: input.maxBatches - plan.batches.length,
    weightLeft: input.weightLeft - plan.batches.reduce((sum, batch) => sum + batch.weight, 0),
  };
};

export const buildContext = (context: Partial<SettlementContext> = {}): SettlementContext => ({
  attempts: [0, 0, 0],
  maxAttempts: 5,
  idempotency: 'none',
  onUnknown: 'park',
  canReconcile: false,
  bisect: true,
  delayed: { baseMs: 1_000, maxMs: 60_000 },
  inPlace: { times: 2, baseMs: 100 },
  sibling: null,
  refusals: 0,
  ageMs: 0,
  random: () => 0.5,
  ...context,
});
