/**
 * Runs a process that ends by itself: with 0, or the exit code that it set; with 1 where it answers
 * false, or fails, which goes to stderr.
 */
export const runToEnd = (main: () => Promise<boolean | void>): void => {
  main().then(
    (passed) => process.exit(passed === false ? 1 : process.exitCode),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exit(1);
    },
  );
};
