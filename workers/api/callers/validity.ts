import { ApiProblem } from '../problem';

/** How often it is asked whether those who wait may still; a look at the database for all. */
const ASK_MS = 1_000;

/**
 * Ends what waits for long (streams and long polls) once its caller's token is revoked, or once a
 * token is required.
 */
export class Validity {
  private readonly open = new Map<number, Set<AbortController>>();
  private timer: NodeJS.Timeout | null = null;

  /** `isValid` says whether a caller is still admitted; it may be two seconds behind. */
  constructor(private readonly isValid: (caller: number) => Promise<boolean>) {}

  /** Returns a signal that is aborted with the problem, and how to end the watch. */
  watch(caller: number): { signal: AbortSignal; leave: () => void } {
    const ended = new AbortController();
    const all = this.open.get(caller) ?? new Set();
    this.open.set(caller, all.add(ended));
    this.timer ??= setInterval(() => void this.ask(), ASK_MS).unref();
    return { signal: ended.signal, leave: () => this.leave(caller, ended) };
  }

  private leave(caller: number, one: AbortController): void {
    const all = this.open.get(caller);
    all?.delete(one);
    if (all?.size === 0) this.open.delete(caller);
    if (this.open.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private async ask(): Promise<void> {
    for (const [caller, all] of this.open) {
      // Without an answer of the database nothing is known; what waits asks it anyway.
      if (await this.isValid(caller).catch(() => true)) continue;
      const problem = new ApiProblem('unauthorized', 'The token was revoked while this was open.');
      for (const one of all) one.abort(problem);
    }
  }
}
