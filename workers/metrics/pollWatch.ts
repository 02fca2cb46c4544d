import type { PollKind } from './polls';
import { PollState, readPollCounts } from './polls';

/** Fails a part of `/healthz`, and says since when. */
export class SinceError extends Error {
  constructor(
    message: string,
    readonly since: Date,
  ) {
    super(message);
    this.name = 'SinceError';
  }
}

/**
 * Watches the polls of this process through the SDK's Prometheus endpoint, which is on this
 * machine.
 */
export class PollWatch {
  private readonly states = new Map<string, PollState>();
  private awayAt = -Infinity;

  constructor(private readonly url: string) {}

  /**
   * Notes that the server answers no other request either: polls get their time from its return on.
   */
  sayAway(): void {
    this.awayAt = performance.now();
  }

  /**
   * Reads the counters; throws `SinceError` if some polls do not come back, or bring only failures.
   */
  async check(): Promise<void> {
    const text = await fetch(this.url, { signal: AbortSignal.timeout(1_500) }).then((answer) => answer.text());
    const now = performance.now();
    for (const counts of readPollCounts(text)) {
      const key = `${counts.kind} ${counts.queue}`;
      const state = this.states.get(key) ?? new PollState(counts.queue, counts.kind, now);
      this.states.set(key, state);
      state.see(counts, now, this.awayAt);
    }
    const troubles = [...this.states.values()].map((state) => state.trouble(now)).filter((found) => found !== null);
    const [oldest] = troubles.sort((a, b) => a.sinceMs - b.sinceMs);
    if (oldest !== undefined) throw new SinceError(oldest.text, new Date(Date.now() - (now - oldest.sinceMs)));
  }

  /**
   * Returns the seconds since a poll of each kind was last answered, for the task queue that waits
   * longest.
   */
  ages(): { kind: PollKind; seconds: number }[] {
    const now = performance.now();
    const oldest = (kind: PollKind): number =>
      Math.max(0, ...[...this.states.values()].filter((one) => one.kind === kind).map((one) => one.ageMs(now)));
    return (['workflow', 'activities'] as const).map((kind) => ({ kind, seconds: oldest(kind) / 1_000 }));
  }
}

/** Returns the URL at which a process on this machine reads what is served at this host:port. */
export const localUrl = (address: string): string => {
  const [, host, port] = /^(.*):(\d+)$/.exec(address) ?? [address, '127.0.0.1', ''];
  const reachable = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '[::]' ? '[::1]' : host;
  return `http://${reachable}:${port}/metrics`;
};
