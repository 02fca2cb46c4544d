import type { Sealer } from '../../handlers/codec/sealer';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { lockPair } from '../../postgres/calls/halves';
import { markResolving, readLookUps } from '../../postgres/lanes/settle';
import type { AcceptedInLane } from '../../postgres/lanes/settleMany';
import type { Client, Pool } from '../../postgres/pool';
import type { MemberEnd } from '../../workflows/planning/calls/plans';
import { askEveryMs } from '../../handlers';
import { successNotifications } from '../callbacks/notifications';
import type { Call, Home, HomeDeps, Settled } from '../calls/call';
import { conclude } from '../calls/conclude';
import type { Conclude, Decision, Half, LookAgain, LookUps, Part, PlainOutcome } from '../calls/door';
import { NO_LOOK_UPS } from '../calls/door';
import type { EndsTold } from '../hooks/endsTold';
import type { OutcomesTold } from '../outcomes/told';
import type { GroupWriter } from '../sharing/groupWriter';
import { TO_LOOK_AGAIN } from '../calls/putOff';
import { concludePair } from './halves';
import { LANE_RULES } from './rules';
import { insertRetry, lookAgainInLane, settleInLane } from './settle';
import type { Applied, LaneWritten } from './writer';
import { acceptedWriter, appliedWriter } from './writer';

const PLAIN = { ring: false, againInMs: null, accepted: false, hasNotifications: false, awaited: false };

/** A lane batch. */
export class LaneHome implements Home {
  readonly rules = LANE_RULES;
  readonly random = (): number => Math.random();
  readonly hooks: EndsTold | undefined;
  readonly outcomes: OutcomesTold | undefined;
  readonly sealer: Sealer | null;
  private readonly applied: GroupWriter<Applied, LaneWritten>;
  private readonly accepted: GroupWriter<AcceptedInLane, LaneWritten>;

  constructor(
    readonly pool: Pool,
    { hooks, outcomes, sealer = null }: HomeDeps = {},
  ) {
    this.hooks = hooks;
    this.outcomes = outcomes;
    this.sealer = sealer;
    this.applied = appliedWriter(pool);
    this.accepted = acceptedWriter(pool);
  }

  async recall({ park, handler, batch }: Call): Promise<LookUps> {
    if (park !== undefined || handler.reconcile === undefined) return NO_LOOK_UPS;
    return readLookUps(this.pool, batch.id);
  }

  lookingUp({ id }: CarriedBatch): Promise<void> {
    return markResolving(this.pool, id);
  }

  share(call: Call, outcome: PlainOutcome): Promise<Settled> {
    return outcome.kind === 'accepted' ? this.accept(call, outcome.reference) : this.succeed(call);
  }

  private async accept({ batch, attempt, handler }: Call, reference: string): Promise<Settled> {
    const poll = { every_ms: askEveryMs(handler), deadline_ms: handler.poll.deadlineMs };
    const frees = handler.lane.dependencies === 'downstream';
    const { written, lanes } = await this.accepted.write({ id: batch.id, attempt, reference, frees, ...poll });
    return { ...PLAIN, written, kind: 'accept', accepted: written, lanes };
  }

  private async succeed(call: Call): Promise<Settled> {
    const { batch, attempt } = call;
    const notifications = successNotifications(call);
    const pages = await call.pages.rest();
    const applied = await this.applied.write({ id: batch.id, attempt, pages, notifications });
    return { ...PLAIN, ...applied, kind: 'finish', hasNotifications: notifications.length > 0 };
  }

  async lookAgain(call: Call, look: LookAgain): Promise<Settled> {
    const lanes = await lookAgainInLane(this.pool, call, look);
    return { ...TO_LOOK_AGAIN, written: lanes !== null, lanes: lanes ?? [] };
  }

  conclude(call: Call, door: Conclude): Promise<Settled> {
    return conclude(call, door);
  }

  /** Locks the other half of a batch that was halved down to one task. */
  async lockHalf(client: Client, { id, n, depth, parentId }: CarriedBatch): Promise<Half | null> {
    return n === 1 && depth >= 1 && parentId !== null ? lockPair(client, parentId, id) : null;
  }

  async retry(client: Client, call: Call, back: readonly MemberEnd[]): Promise<Part[]> {
    return [await insertRetry(client, call, back)];
  }

  after(client: Client, call: Call, decision: Decision, parts: readonly Part[]): Promise<number[]> {
    return settleInLane(client, call, decision, parts);
  }

  concludeHalf(client: Client, call: Call, half: Half, mine: Decision) {
    return concludePair(client, call, half, mine);
  }
}
