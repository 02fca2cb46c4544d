/** The clocks of a run, in nanoseconds. */

export const CLOCK = { realtime: 0, monotonic: 1, processCpu: 2, threadCpu: 3 } as const;

const NS_PER_MS = 1_000_000n;
const NS_PER_US = 1_000n;

/** Processor time of the process that runs the module, which runs one at a time. */
const cpuNs = (): bigint => {
  const { user, system } = process.cpuUsage();
  return BigInt(user + system) * NS_PER_US;
};

export class Clocks {
  private readonly cpuBefore = cpuNs();

  /** Returns the time by a clock; null: there is no such clock. */
  now(id: number): bigint | null {
    switch (id) {
      case CLOCK.realtime:
        return BigInt(Date.now()) * NS_PER_MS;
      case CLOCK.monotonic:
        return process.hrtime.bigint();
      case CLOCK.processCpu:
      case CLOCK.threadCpu:
        return cpuNs() - this.cpuBefore;
      default:
        return null;
    }
  }

  /** Returns how far apart two times are at least; null: there is no such clock. */
  resolution(id: number): bigint | null {
    if (id === CLOCK.realtime) return NS_PER_MS;
    if (id === CLOCK.monotonic) return 1n;
    return id === CLOCK.processCpu || id === CLOCK.threadCpu ? NS_PER_US : null;
  }
}
