import { withRetries } from '../../postgres/errors';
import { Coalescer } from '../../postgres/sharing/coalescer';
import type { Pool } from '../../postgres/pool';
import { lowerDue, wakeLeaders } from '../../postgres/grouping/ring';
import { wakeLeaderWorkflows } from '../../workflows/wake';
import type { Behind } from '../../workflows/behind';

/** Under load the next ring begins so many times later than the last one took. */
const REST_PER_RING = 3;
const MOST_REST_MS = 20;

/**
 * Rings the leaders of targets after commits. Makes one ring at a time per client: targets that
 * arrive meanwhile share the next ring, which makes submits to a hot target many times faster. A
 * wake in progress does not delay later rings. A failed ring never fails a submit, since the
 * sweeper repeats it.
 */
export class Ringer {
  private readonly coalescer = new Coalescer<number>(
    (ids) => this.ringNow(ids),
    (tookMs) => Math.min(MOST_REST_MS, tookMs * REST_PER_RING),
  );
  /** The ring that submits joined last. */
  private shared: Promise<void> | null = null;

  constructor(
    private readonly pool: Pool,
    private readonly behind: Behind,
    private readonly prefix: string,
    private readonly leaseMs: number,
  ) {}

  /** Resolves when a ring that began after this call has ended, or when that takes too long. */
  ring(targetIds: Iterable<number>): Promise<void> {
    const ids = [...targetIds];
    return ids.length === 0 ? Promise.resolve() : this.behind.follow(() => this.coalescer.add(ids));
  }

  /**
   * The same after a submit. Only a lone one waits: a ring looks at up to a whole batch per target,
   * so many submits at once share few rings, and their callers would wait for these longer than for
   * the commits.
   */
  ringBehind(targetIds: Iterable<number>): Promise<void> {
    if (!this.coalescer.isBusy) return this.ring(targetIds);
    const done = this.coalescer.addLater(targetIds);
    if (done !== this.shared) void this.behind.follow(() => done);
    this.shared = done;
    return Promise.resolve();
  }

  private async ringNow(ids: readonly number[]): Promise<void> {
    await withRetries(() => lowerDue(this.pool, ids));
    const leaders = await withRetries(() => wakeLeaders(this.pool, ids, this.leaseMs));
    if (leaders.length > 0) await this.behind.wake((requests) => wakeLeaderWorkflows(requests, this.prefix, leaders));
  }
}
