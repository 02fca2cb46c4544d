import * as expired from './expired';
import { deleteOldBulks } from '../bulk/action';
import { deleteKeptAnswers } from '../api/idempotencyKey';
import { deleteOldAudit } from '../operations/audit';
import { deleteOldOutcomes } from '../outcomes/minute';
import { DAY_MS } from '../../workflows/planning/duration';
import type { Queryable } from '../pool';

/** Rows that commit late carry an earlier time: this much is scanned again each time. */
const MARGIN_MS = 120_000;
/**
 * What could not be deleted when its time came (a part, a retried member, an undelivered callback)
 * is deleted by the next full scan.
 */
const FULL_LOOK_MS = 3_600_000;

/** Reading recipients means reading each one in use: done rarely, and this many at once. */
const RECIPIENTS_MS = 600_000;
const RECIPIENTS = 5_000;
/** Labels that one call looks at, until it has looked at all of them. */
const LABELS = 5_000;
/** How long an Idempotency-Key of the HTTP API is kept. */
const KEYS_KEPT_MS = 86_400_000;
const KEYS = 5_000;
/** How long an entry of the audit is kept; the table refuses to delete it within a year. */
const AUDIT_KEPT_MS = 400 * 86_400_000;
const AUDIT = 5_000;
/** How long a bulk action that has ended is kept. */
const BULKS_KEPT_MS = 30 * DAY_MS;
const BULKS = 1_000;
/** How long outcomes per minute are kept, unless the config file says otherwise. */
export const KEEP_OUTCOMES_MS = 7 * DAY_MS;
const OUTCOMES = 5_000;

interface Mark {
  batches: Date | null;
  outcomes: Date | null;
}

export interface RetentionOptions {
  /** How long outcomes per minute are kept; default 7 days. */
  keepOutcomesMs?: number | undefined;
  /** Objects of what is deleted are noted: the object store can delete them. Default: false. */
  notesObjects?: boolean;
}

/**
 * Deletes what ended longer ago than its handler's `retentionMs` (default 7 days), in bounded
 * transactions. The ids of deleted tasks are free again: duplicates are detected within the
 * retention. Never deleted: a backlog, anything unknown, a batch with members that live on
 * elsewhere (retried, split off, redriven) or whose callbacks are not delivered yet.
 *
 * Handlers may keep things for an hour or for a year, and the index knows only when a batch ended:
 * without a memory each call would read everything that handlers with a long retention keep. So an
 * instance remembers how far it has scanned, and scans everything again once an hour.
 */
export class Retention {
  private marks = new Map<number, Mark>();
  private fullLookAt = -Infinity;
  private recipientsAt = -Infinity;
  private turn = 0;
  /** After which task labels are looked at; null: they have been, since the last full scan. */
  private labelsAfter: number | null = 0;

  private readonly keepOutcomesMs: number;
  private readonly notesObjects: boolean;

  constructor(
    private readonly now: () => number = () => performance.now(),
    { keepOutcomesMs = KEEP_OUTCOMES_MS, notesObjects = false }: RetentionOptions = {},
  ) {
    this.keepOutcomesMs = keepOutcomesMs;
    this.notesObjects = notesObjects;
  }

  /**
   * Deletes about `limit` tasks at most (one batch goes whole); returns how many. To be called
   * again and again.
   */
  async deleteExpired(db: Queryable, limit: number): Promise<number> {
    if (this.now() - this.fullLookAt > FULL_LOOK_MS) {
      this.marks = new Map();
      this.labelsAfter ??= 0; // one that is not over goes on
      this.fullLookAt = this.now();
    }
    const handlers = await expired.readRetentions(db);
    // Before the work: a handler whose rows cannot be deleted now must not come first again.
    const turn = this.turn++;
    let deleted = 0;
    // Starts with another handler each time, so that one with much to delete leaves the others
    // their turn.
    for (let i = 0; i < handlers.length && deleted < limit; i++) {
      const handler = handlers[(i + turn) % handlers.length]!;
      deleted += await this.deleteOf(db, handler, limit - deleted);
    }
    await expired.deleteExpiredNotifications(db, limit);
    if (this.labelsAfter !== null) this.labelsAfter = await expired.deleteLostLabels(db, this.labelsAfter, LABELS);
    await deleteKeptAnswers(db, KEYS_KEPT_MS, KEYS);
    await deleteOldOutcomes(db, this.keepOutcomesMs, OUTCOMES);
    if (this.now() - this.recipientsAt > RECIPIENTS_MS) {
      await deleteOldAudit(db, AUDIT_KEPT_MS, AUDIT);
      await deleteOldBulks(db, BULKS_KEPT_MS, BULKS);
      // A full chunk: there may be more, so the next call goes on.
      if ((await expired.deleteUnusedRecipients(db, RECIPIENTS)) < RECIPIENTS) this.recipientsAt = this.now();
    }
    return deleted;
  }

  private async deleteOf(db: Queryable, handler: expired.HandlerRetention, limit: number): Promise<number> {
    const mark = this.marks.get(handler.id) ?? { batches: null, outcomes: null };
    this.marks.set(handler.id, mark);
    const { notesObjects } = this;
    const alone = await expired.deleteExpiredOutcomes(db, handler, { from: mark.outcomes, limit, notesObjects });
    mark.outcomes = before(alone.seenTo);
    if (alone.tasks >= limit) return alone.tasks;
    const left = limit - alone.tasks;
    const whole = await expired.deleteExpiredBatches(db, handler, { from: mark.batches, limit: left, notesObjects });
    mark.batches = before(whole.seenTo);
    return alone.tasks + whole.tasks;
  }
}

const before = (time: Date): Date => new Date(time.getTime() - MARGIN_MS);
