import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Spreads runs over time by the host that they go to: that of the first argument that is an http or
 * https URL. Other runs are not held.
 */
export class HostPace {
  private readonly nextAt = new Map<string, number>();

  /** `perSecond`: runs per second to one host; Infinity: no limit. */
  constructor(private readonly perSecond: number) {}

  /** Resolves when this run may go; at once when it is aborted. */
  async turn(args: readonly string[], signal: AbortSignal): Promise<void> {
    const host = Number.isFinite(this.perSecond) ? hostOf(args) : null;
    if (host === null) return;
    const now = performance.now();
    const at = Math.max(now, this.nextAt.get(host) ?? 0);
    this.nextAt.set(host, at + 1_000 / this.perSecond);
    if (at > now) await sleep(at - now, undefined, { signal }).catch(() => undefined);
  }
}

const hostOf = (args: readonly string[]): string | null => {
  const url = args.find((arg) => /^https?:\/\//i.test(arg) && URL.canParse(arg));
  return url === undefined ? null : new URL(url).host;
};
