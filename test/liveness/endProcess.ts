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

/** Runs a command of the harness, prints its outcome, and ends the process by its verdict. */
export const endWith = (log: (line: string) => void, run: () => Promise<Judged>): void => {
  process.once('exit', killLeftovers);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
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
