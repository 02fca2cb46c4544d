import { killLeftovers } from '../cli/process';

/** Seconds since now, before each line on stderr. */
export const timedLog = (): ((line: string) => void) => {
  const begunMs = performance.now();
  return (line) =>
    void process.stderr.write(`${((performance.now() - begunMs) / 1_000).toFixed(1).padStart(7)} ${line}\n`);
};

interface Judged {
  passed: boolean;
  /** What did not hold, in words. */
  failures: readonly string[];
}

/**
 * Runs a command of the harness, prints its outcome, and ends the process by its verdict. `stop`:
 * ends the run early, so that what was done is judged; a second signal ends the process at once.
 */
export const endWith = (log: (line: string) => void, run: () => Promise<Judged>, stop?: () => void): void => {
  process.once('exit', killLeftovers);
  let isStopping = stop === undefined;
  const end = (): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    log('stopping: what was done is judged; the next Ctrl-C ends at once');
    stop?.();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  run().then(
    (outcome) => {
      for (const failure of outcome.failures) log(`! ${failure}`);
      log(outcome.passed ? 'passed' : 'FAILED');
      process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(outcome.passed ? 0 : 1));
    },
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exit(1);
    },
  );
};
