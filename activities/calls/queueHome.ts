import type { Sealer } from '../../handlers/codec/sealer';
import { postponeLookUp } from '../../postgres/calls/batch';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { lockSibling } from '../../postgres/calls/halves';
import type { NewNotification, ResultPage } from '../../postgres/calls/records';
import { delayMembers, settleSucceeded } from '../../postgres/calls/settle';
import { withRetries } from '../../postgres/errors';
import type { Client, Pool } from '../../postgres/pool';
import type { MemberEnd } from '../../workflows/planning/calls/plans';
import { successNotifications } from '../callbacks/notifications';
import type { Call, Home, HomeDeps, Settled } from './call';
import { conclude } from './conclude';
import type { Conclude, Decision, Half, LookAgain, LookUps, Part } from './door';
import { NO_LOOK_UPS } from './door';
import { OUTCOME_CHUNK } from './finish';
import type { EndsTold } from '../hooks/endsTold';
import type { OutcomesTold } from '../outcomes/told';
import { GroupWriter } from '../sharing/groupWriter';
import { concludeSibling } from './halves';
import { TO_LOOK_AGAIN } from './putOff';
import { QUEUE_RULES } from './queueRules';

interface Success {
  id: number;
  attempt: number;
  /** Its members hold keys of `distinctBy`. */
  keyed: boolean;
  pages: ResultPage[];
  notifications: NewNotification[];
}

/** Writes many batches whose members all succeeded, in one statement. */
export const successWriter = (pool: Pool): GroupWriter<Success, { written: boolean; awaited: boolean }> =>
  new GroupWriter(async (group) => {
    const done = await withRetries(() =>
      settleSucceeded(
        pool,
        group.map(({ id, attempt, keyed }) => ({ id, attempt, counts: true, keyed })),
        group.flatMap(({ pages }) => pages),
        group.flatMap(({ notifications }) => notifications),
      ),
    );
    return new Map(group.map(({ id }) => [id, { written: done.has(id), awaited: done.get(id) === true }]));
  });

/** A batch that a leader formed from its target's queue. */
export class QueueHome implements Home {
  readonly rules = QUEUE_RULES;
  readonly hooks: EndsTold | undefined;
  readonly outcomes: OutcomesTold | undefined;
  readonly sealer: Sealer | null;
  private readonly successes: ReturnType<typeof successWriter>;

  constructor(
    readonly pool: Pool,
    { hooks, outcomes, sealer = null }: HomeDeps = {},
    readonly random: () => number = () => Math.random(),
  ) {
    this.hooks = hooks;
    this.outcomes = outcomes;
    this.sealer = sealer;
    this.successes = successWriter(pool);
  }

  recall(): Promise<LookUps> {
    return Promise.resolve(NO_LOOK_UPS);
  }

  lookingUp(): Promise<void> {
    return Promise.resolve();
  }

  /** Settles a success: its rules let no other outcome through this door. */
  async share(call: Call): Promise<Settled> {
    const { batch, attempt, handler } = call;
    const notifications = successNotifications(call);
    const keyed = handler.distinctBy !== undefined;
    const pages = await call.pages.rest();
    const { written, awaited } = await this.successes.write({ id: batch.id, attempt, keyed, pages, notifications });
    const hasNotifications = notifications.length > 0;
    const settled = { ring: keyed, againInMs: null, accepted: false, hasNotifications, lanes: [] };
    return { ...settled, written, kind: 'finish', awaited };
  }

  async lookAgain({ batch, attempt }: Call, { inMs }: LookAgain): Promise<Settled> {
    await postponeLookUp(this.pool, batch.id, attempt, inMs);
    return TO_LOOK_AGAIN;
  }

  conclude(call: Call, door: Conclude): Promise<Settled> {
    return conclude(call, door);
  }

  async lockHalf(client: Client, { id, depth, parentId }: CarriedBatch): Promise<Half | null> {
    return depth === 1 && parentId !== null ? lockSibling(client, parentId, id) : null;
  }

  async retry(client: Client, { members }: Call, back: readonly MemberEnd[]): Promise<Part[]> {
    const delayed = back.map((end) => ({
      seq: members[end.index]!.seq,
      attempts: members[end.index]!.attempts + 1,
      in_ms: end.to === 'retry' ? end.inMs : 0,
      error: end.error,
    }));
    for (let i = 0; i < delayed.length; i += OUTCOME_CHUNK)
      await delayMembers(client, delayed.slice(i, i + OUTCOME_CHUNK));
    return [];
  }

  after(): Promise<number[]> {
    return Promise.resolve([]);
  }

  async concludeHalf(client: Client, call: Call, half: Half, mine: Decision) {
    return { hasNotifications: await concludeSibling(client, call, half, mine), lanes: [] };
  }
}
