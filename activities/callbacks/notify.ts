import { setMaxListeners } from 'node:events';
import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { DeliveryAnswer, FanoutEnded, TasksEnded } from '../../workflows/definitions';
import { fanoutEndedSignal, tasksEndedSignal } from '../../workflows/definitions';
import {
  endNotification,
  nextNotificationInMs,
  putBackNotification,
  putOffNotification,
  readBody,
} from '../../postgres/callbacks/notification';
import type { TakenNotification } from '../../postgres/callbacks/notification';
import { concernsStore } from '../../postgres/errors';
import { outlast } from '../../postgres/outage';
import { DEFAULT_WORKFLOWS, workflowRefusal } from '../../workflows/planning/callbacks/workflows';
import { NOTIFIER_LOOK } from '../../postgres/sweeper/overdueWork';
import type { ActivityDeps } from '../deps';
import { CodecError } from '../../handlers/codec/codecError';
import { cutText, describeThrown, show } from '../../handlers/text';
import { LookSign } from '../accepted/lookSign';
import { TICK_MS } from '../tick';
import { Deliveries } from './deliveries';
import { partsOf, withResults } from './message';
import { openMessage } from './openMessage';
import { sendWebhook } from './webhook';
import type { Delivery } from './webhook';

const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 3_600_000;
const GIVE_UP_AFTER_MS = 24 * 3_600_000;
/** Each message that is put back untried waits so much longer than the one before. */
const UNTRIED_STEP_MS = 20;
const UNTRIED_MOST_MS = 300_000;

/**
 * Most bytes of one signal or request: a server refuses payloads of 2 MB, receivers larger bodies.
 * A larger message goes in parts.
 */
const SIGNAL_BYTES = 400_000;
/** A signal without an answer for so long is sent again later. */
const SIGNAL_MS = 10_000;
const WEBHOOK_BYTES = 1_000_000;

/**
 * Returns the wait after that many attempts, without jitter: 2 s, doubled up to an hour; null once
 * the waits before it are 24 h in all. Counted by attempts: a receiver gets the same time to come
 * back, however late the attempts were made.
 */
export const deliveryWaitMs = (attempts: number): number | null => {
  const waitOf = (attempt: number): number => Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 20));
  let waited = 0;
  for (let attempt = 1; attempt < attempts; attempt++) waited += waitOf(attempt);
  return waited >= GIVE_UP_AFTER_MS ? null : waitOf(attempts);
};

/**
 * Looks once at the outbox, into which settlements write their messages: delivers what is due until
 * nothing is, or until the soft deadline. Each message is delivered at least once.
 */
export const deliverNotifications = async (deps: ActivityDeps): Promise<DeliveryAnswer> => {
  const context = Context.current();
  setMaxListeners(0, context.cancellationSignal); // each delivery in progress listens
  const sign = new LookSign(deps.pool, NOTIFIER_LOOK);
  const beat = setInterval(() => {
    sign.beat();
    context.heartbeat();
  }, TICK_MS);
  try {
    return await new DeliveryRun(deps, sign, context.cancellationSignal).run();
  } finally {
    clearInterval(beat);
  }
};

/** A message, independent of its transport. */
interface Message {
  type: string;
  timestamp: string;
  /** Undefined: it is about a fan-out. */
  handler?: string;
  /** Name of the signal, where the receiver gave none. */
  signal: string;
  /** Never empty, and the same in every attempt. */
  partsOf(maxBytes: number): object[];
}

const fanoutMessage = (body: FanoutEnded): Message => ({
  type: body.type,
  timestamp: body.endedAt,
  signal: fanoutEndedSignal.name,
  partsOf: () => [body],
});

/** A delivery, or why there was none. */
type Outcome = Delivery | { kind: 'untried'; error: string; waitMs: number };

/** A host that did not answer at all. */
interface Down {
  error: string;
  /** Messages to it that were put back since. */
  untried: number;
}

/**
 * Returns the wait of a message that was not tried, by how many to its host were put back before.
 * It does not grow with the attempts: the failure was that of another message.
 */
export const untriedWaitMs = (before: number): number =>
  Math.min(UNTRIED_MOST_MS, FIRST_WAIT_MS + UNTRIED_STEP_MS * before);

class DeliveryRun {
  private readonly answer: DeliveryAnswer = { delivered: 0, givenUp: 0, putOff: 0, dueInMs: null };
  /**
   * Hosts that did not answer at all in this look: other messages to them are put back untried, or
   * they would hold up all the rest.
   */
  private readonly down = new Map<string, Down>();

  constructor(
    private readonly deps: ActivityDeps,
    private readonly sign: LookSign,
    private readonly signal: AbortSignal,
  ) {}

  async run(): Promise<DeliveryAnswer> {
    const { deps } = this;
    const settle = (one: TakenNotification): Promise<void> => this.settle(one);
    await new Deliveries({ deps, settle, isStopping: () => this.isStopping() }).run();
    return { ...this.answer, dueInMs: await nextNotificationInMs(this.deps.pool) };
  }

  private isStopping(): boolean {
    return this.signal.aborted || this.deps.draining.aborted;
  }

  /**
   * Delivers one notification and writes the result. Rejects only if the store fails: the
   * notification is then due again when its lease expires.
   */
  private async settle(one: TakenNotification): Promise<void> {
    const { pool, log } = this.deps;
    // Lets the next process start immediately, not after the lease.
    if (this.isStopping()) return putBackNotification(pool, one, 0, 'not tried: the worker was stopping');
    const delivery = await this.deliver(one);
    this.sign.give();
    if (delivery.kind === 'untried') {
      this.answer.lastError = cutText(delivery.error);
      this.answer.putOff++;
      return putBackNotification(pool, one, delivery.waitMs, cutText(delivery.error));
    }
    if (delivery.kind === 'delivered') {
      this.answer.delivered++;
      // Keep trying to record the delivery: otherwise the receiver would get it again after the
      // lease.
      return outlast(() => endNotification(pool, one.id, one.attempts, null), {
        signal: this.signal,
        onOutage: (err) => log.warn({ err, notification: one.id }, 'a delivery is buffered until Postgres accepts it'),
      });
    }
    this.answer.lastError = cutText(delivery.error);
    const waitMs = delivery.kind === 'given-up' ? null : deliveryWaitMs(one.attempts);
    if (waitMs === null) {
      this.answer.givenUp++;
      const error =
        delivery.kind === 'given-up' ? delivery.error : `given up after ${one.attempts} attempts: ${delivery.error}`;
      log.warn({ notification: one.id, batch: one.batchId, error }, 'a callback was not delivered');
      return endNotification(pool, one.id, one.attempts, cutText(error));
    }
    this.answer.putOff++;
    const asked = delivery.kind === 'retry' ? (delivery.afterMs ?? 0) : 0;
    const jitter = 0.9 + 0.2 * Math.random();
    await putOffNotification(
      pool,
      one.id,
      one.attempts,
      Math.max(waitMs * jitter, Math.min(asked, LONGEST_WAIT_MS)),
      cutText(delivery.error),
    );
  }

  /**
   * Delivers one message. Whatever fails in reading or sending it is an attempt of this message
   * alone, also a statement that takes too long; only an outage of the store is thrown, since it
   * concerns all of them.
   */
  private async deliver(one: TakenNotification): Promise<Outcome> {
    try {
      const message = await this.messageOf(one);
      return one.kind === 'workflow' ? await this.signalWorkflow(one, message) : await this.callWebhook(one, message);
    } catch (error) {
      if (!(error instanceof CodecError) && concernsStore(error)) throw error;
      const why =
        error instanceof CodecError ? `its results cannot be decoded: ${error.message}` : describeThrown(error);
      return { kind: 'retry', error: `not sent: ${why}` };
    }
  }

  private async messageOf(one: TakenNotification): Promise<Message> {
    const body = one.body ?? (await readBody(this.deps.pool, one.id));
    if (typeof body !== 'object' || body === null) throw new TypeError(`body: expected an object, got ${show(body)}`);
    return 'fanout' in body ? fanoutMessage(body as FanoutEnded) : this.tasksMessage(one, body as TasksEnded);
  }

  private async tasksMessage(one: TakenNotification, body: TasksEnded): Promise<Message> {
    const stored = await withResults(this.deps.pool, body, one.batchId, one.batchAttempt);
    const sealer = one.kind === 'workflow' ? this.deps.workflowSealer : this.deps.sealer;
    const whole = sealer === null ? stored : await openMessage(sealer, stored);
    const timestamp = one.endedAt ?? new Date().toISOString();
    return {
      type: 'tasks.ended',
      timestamp,
      handler: body.handler,
      signal: tasksEndedSignal.name,
      partsOf: (maxBytes) => partsOf(whole, maxBytes),
    };
  }

  private async signalWorkflow(one: TakenNotification, message: Message): Promise<Delivery> {
    const { workflowId, runId, signal } = one.address as { workflowId: string; runId?: string; signal?: string };
    const { workflows = DEFAULT_WORKFLOWS } = this.deps.callbacks;
    const refusal = workflowRefusal(workflows, { workflowId, signal });
    if (refusal !== null)
      return { kind: 'given-up', error: `${refusal.field}: expected ${refusal.expected}, got ${refusal.got}` };
    try {
      for (const part of message.partsOf(SIGNAL_BYTES))
        await this.deps.requests.send(
          { kind: 'callback', handler: message.handler },
          ({ workflow }) => workflow.getHandle(workflowId, runId).signal(signal ?? message.signal, part),
          SIGNAL_MS,
        );
      return { kind: 'delivered' };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError)
        return { kind: 'given-up', error: `workflow ${workflowId}: not found, or it has ended` };
      return { kind: 'retry', error: `workflow ${workflowId}: ${describeThrown(error)}` };
    }
  }

  private async callWebhook(one: TakenNotification, message: Message): Promise<Outcome> {
    const { url } = one.address as { url: string };
    const host = one.host ?? url;
    const down = this.down.get(host);
    if (down !== undefined) {
      const error = `not tried, since its host did not answer another delivery: ${down.error}`;
      return { kind: 'untried', error, waitMs: untriedWaitMs(down.untried++) };
    }
    const { type, timestamp } = message;
    const id = one.messageId;
    const parts = message.partsOf(WEBHOOK_BYTES);
    for (const [no, data] of parts.entries()) {
      const part = parts.length === 1 ? {} : { part: { no: no + 1, of: parts.length } };
      const body = JSON.stringify({ type, timestamp, data: { ...data, ...part } });
      const sent = { id: parts.length === 1 ? id : `${id}_${no + 1}`, url, body };
      const delivery = await sendWebhook(this.deps.callbacks, sent, { signal: this.signal });
      if (delivery.kind === 'retry' && delivery.unreachable === true && !this.signal.aborted)
        this.down.set(host, this.down.get(host) ?? { error: delivery.error, untried: 0 });
      if (delivery.kind !== 'delivered') return delivery;
    }
    return { kind: 'delivered' };
  }
}
