import { randomUUID } from 'node:crypto';
import { applyEdits, type Edit, type Prices, type Receipt } from './edits';
import type { Entry, Journal } from './journal';

export interface Accepted {
  key: string;
  reference: string;
  service: string;
  edits: Edit[];
  callback: string | null;
  acceptedAt: number;
  dueAt: number;
}
export interface BookOptions {
  commitMs: number;
  /**
   * Share by which a commit may come earlier or later: without it batches are applied as they were
   * accepted.
   */
  jitter: number;
  /** Applies a service's batches as they were accepted, whatever the jitter. */
  keepsOrder: boolean;
  dedupes: boolean;
  pendingLimit: number;
  random: () => number;
}
export interface AccountState {
  status: 'pending' | 'valid' | 'committed' | 'invalid' | 'lost';
  receipts?: Receipt[];
}
export type Submitted =
  { kind: 'accepted'; reference: string; repeated: boolean } | { kind: 'ended'; entry: Entry } | { kind: 'full' };

/**
 * What the ledger knows: ended batches from its journal, accepted ones in memory only. Time is
 * given in milliseconds.
 */
export class Book {
  private readonly accepted = new Map<string, Accepted>();
  private readonly ended = new Map<string, Entry>();
  private readonly endedByKey = new Map<string, Entry>();
  private readonly prices = new Map<string, Prices>();
  readonly applied: { service: string; key: string }[] = [];
  readonly counters = { accepted: 0, repeated: 0, full: 0, committed: 0, invalid: 0 };

  constructor(
    private readonly journal: Journal,
    entries: readonly Entry[],
    private readonly options: BookOptions,
  ) {
    for (const entry of entries) this.remember(entry);
  }

  private remember(entry: Entry): void {
    this.ended.set(entry.reference, entry);
    this.endedByKey.set(entry.key, entry);
    this.counters[entry.status] += 1;
    if (entry.status === 'invalid') return;
    this.applied.push({ service: entry.service, key: entry.key });
    this.prices.set(entry.service, applyEdits(this.pricesOf(entry.service), entry.edits).prices!);
  }

  submit(batch: Pick<Accepted, 'key' | 'service' | 'edits' | 'callback'>, now: number): Submitted {
    const known = this.options.dedupes ? this.find(batch.key) : null;
    if (known !== null) {
      this.counters.repeated += 1;
      return 'status' in known
        ? { kind: 'ended', entry: known }
        : { kind: 'accepted', reference: known.reference, repeated: true };
    }
    const waiting = [...this.accepted.values()].filter(({ service }) => service === batch.service);
    if (waiting.length >= this.options.pendingLimit) {
      this.counters.full += 1;
      return { kind: 'full' };
    }
    const { commitMs, jitter, keepsOrder, random } = this.options;
    const own = now + commitMs * (1 + jitter * (2 * random() - 1));
    const dueAt = keepsOrder ? Math.max(own, ...waiting.map((other) => other.dueAt)) : own;
    const reference = randomUUID();
    this.accepted.set(reference, { ...batch, reference, acceptedAt: now, dueAt });
    this.counters.accepted += 1;
    return { kind: 'accepted', reference, repeated: false };
  }

  /** By idempotency key. */
  find(key: string): Entry | Accepted | null {
    return this.endedByKey.get(key) ?? [...this.accepted.values()].find((batch) => batch.key === key) ?? null;
  }

  /** A reference that the ledger does not know was accepted before a restart, and lost. */
  stateOf(reference: string, now: number): AccountState {
    const entry = this.ended.get(reference);
    if (entry !== undefined) return { status: entry.status, receipts: entry.receipts };
    const batch = this.accepted.get(reference);
    if (batch === undefined) return { status: 'lost' };
    return { status: now < (batch.acceptedAt + batch.dueAt) / 2 ? 'pending' : 'valid' };
  }

  /** Milliseconds from `now` until the next commit; null: nothing is accepted. */
  nextInMs(now: number): number | null {
    const dues = [...this.accepted.values()].map(({ dueAt }) => dueAt);
    return dues.length === 0 ? null : Math.max(0, Math.min(...dues) - now);
  }

  /** Ends what is due: to the journal first, then to memory. Returns what has ended. */
  commit(now: number): { entry: Entry; callback: string | null }[] {
    const due = [...this.accepted.values()].filter(({ dueAt }) => dueAt <= now);
    due.sort((one, other) => one.dueAt - other.dueAt);
    // Each sees the prices that the one before it leaves.
    const prices = new Map<string, Prices>();
    const done = due.map(({ key, reference, service, edits, callback }) => {
      const after = applyEdits(prices.get(service) ?? this.pricesOf(service), edits);
      if (after.prices !== null) prices.set(service, after.prices);
      const status = after.prices === null ? 'invalid' : 'committed';
      return { entry: { key, reference, service, status, edits, receipts: after.receipts } satisfies Entry, callback };
    });
    if (done.length === 0) return [];
    this.journal.append(done.map(({ entry }) => entry));
    for (const { entry } of done) {
      this.remember(entry);
      this.accepted.delete(entry.reference);
    }
    return done;
  }

  pricesOf(service: string): Prices {
    return this.prices.get(service) ?? {};
  }

  state(): Record<string, Prices> {
    return Object.fromEntries([...this.prices].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  get pending(): number {
    return this.accepted.size;
  }
}
