import type { Logger } from 'pino';
import type { HookName } from '../../handlers/hooks/bounded';
import { HookTimeoutError, runHook } from '../../handlers/hooks/bounded';
import type { CallReport, EndedTask, EndedTasks, HookedBatch, Hooks } from '../../handlers/hooks/types';
import { cutText, describeThrown } from '../../handlers/text';
import { thrownOutcome } from '../../handlers/thrown';
import type { MemberTask } from '../../postgres/calls/members';
import type { CallOutcome, MemberEnd } from '../../workflows/planning/calls/plans';
import type { Call } from '../calls/call';
import type { MadeEnd } from '../calls/door';
import type { EndsTold } from './endsTold';
import type { HookMeters } from './meters';

/** A batch and its members, before or after its mark. */
type Seen = Pick<Call, 'attempt'> & {
  batch: Pick<Call['batch'], 'id' | 'handler' | 'target'>;
  members: readonly Pick<MemberTask, 'id'>[];
};

/** What `beforeCall` may make of a call. */
type Refusal = Extract<CallOutcome, { kind: 'later' | 'halted' }>;

/** Calls the hooks of a worker. Exists only where there are hooks. */
export class WorkerHooks implements EndsTold {
  /** `beforeCall` is to be waited for before a call is marked. */
  readonly asks: boolean;
  readonly observesEnds: boolean;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly hooks: Hooks,
    private readonly log: Pick<Logger, 'warn'>,
    readonly meters: HookMeters,
  ) {
    this.asks = hooks.beforeCall !== undefined;
    this.observesEnds = hooks.taskEnded !== undefined;
  }

  /** Asks whether the call may be made; null: it may. */
  async ask(seen: Seen): Promise<Refusal | null> {
    const event = eventOf(seen);
    try {
      await runHook(this.hooks, 'beforeCall', event);
      return null;
    } catch (thrown) {
      const outcome = thrownOutcome(thrown);
      if (outcome.kind === 'later' || outcome.kind === 'halted') return outcome;
      this.failed('beforeCall', event, thrown);
      return {
        kind: 'later',
        scope: 'target',
        error: cutText(`not sent: beforeCall failed: ${describeThrown(thrown)}`),
      };
    }
  }

  /** Tells of a batch that was marked; only its first mark is told. */
  marked(seen: Seen): void {
    if (this.hooks.batchFormed !== undefined && seen.attempt === 1) this.tell('batchFormed', eventOf(seen));
  }

  called(call: Seen, outcome: MadeEnd, ms: number): void {
    if (this.hooks.afterCall !== undefined)
      this.tell('afterCall', { ...eventOf(call), ...reportOf(call, outcome), ms });
  }

  ended(events: readonly EndedTasks[]): void {
    for (const event of events) if (event.tasks.length > 0) this.tell('taskEnded', event);
  }

  /** Waits for the hooks that run, each no longer than its time. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private tell<N extends 'batchFormed' | 'afterCall' | 'taskEnded'>(
    name: N,
    event: Parameters<NonNullable<Hooks[N]>>[0],
  ): void {
    const running = runHook(this.hooks, name, event)
      .catch((thrown: unknown) => this.failed(name, event, thrown))
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }

  private failed(hook: HookName, { handler, batch }: Pick<HookedBatch, 'handler' | 'batch'>, thrown: unknown): void {
    this.meters.failed(hook, thrown instanceof HookTimeoutError ? 'late' : 'threw');
    this.log.warn({ hook, handler, batch, err: thrown }, 'a hook failed');
  }
}

const eventOf = ({ batch, attempt, members }: Seen): HookedBatch => ({
  handler: batch.handler,
  target: batch.target,
  batch: String(batch.id),
  attempt,
  tasks: members.map(({ id }) => id),
});

const reportOf = ({ members }: Seen, outcome: MadeEnd): Omit<CallReport, keyof HookedBatch | 'ms'> => {
  const nothing = { error: null, reference: null, notOk: [] };
  switch (outcome.kind) {
    case 'results':
      return {
        ...nothing,
        outcome: 'results',
        notOk: outcome.deviants.map(({ index, status, error }) => ({
          id: members[index]!.id,
          status,
          error: error ?? null,
        })),
      };
    case 'accepted':
      return { ...nothing, outcome: 'accepted', reference: outcome.reference };
    case 'look-again':
      return { ...nothing, outcome: 'unknown', error: 'looked up too early to be conclusive' };
    default:
      return { ...nothing, outcome: outcome.kind, error: outcome.error };
  }
};

/** Returns the ends of those members that end in this settlement: `rest` share `state`. */
export const endsOf = (
  { batch, attempt, members }: Call,
  rest: readonly number[],
  ends: readonly MemberEnd[],
  state: 'succeeded' | 'failed' | 'unknown',
  error: string | null,
): EndedTasks => {
  const shared = rest.map((index): EndedTask => ({ id: members[index]!.id, state, error }));
  const own = ends.flatMap((end): EndedTask[] =>
    end.to === 'retry' ? [] : [{ id: members[end.index]!.id, state: end.to, error: end.error }],
  );
  const { handler, target, id } = batch;
  return { handler, target, batch: String(id), attempt, tasks: [...shared, ...own] };
};
