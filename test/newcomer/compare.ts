/** Stands in an output for any lines, or for none. */
const ANY = '...';

/** Returns the lines of an output without what differs from run to run. */
const steady = (text: string): string[] =>
  text
    .trim()
    .split('\n')
    .map((line) =>
      line
        .replace(/\u001b\[[\d;]*m/g, '')
        .trimEnd()
        .replace(/^(after) .*$/, '$1 ?')
        .replace(/^# (pass|fail) /, 'ℹ $1 ') // the runner of Node, where it is no terminal
        .replace(/\bcontinues \d+ runs?\b/, 'continues ? runs'),
    );

const fits = (shown: readonly string[], got: readonly string[]): boolean => {
  const [first, ...rest] = shown;
  if (first === undefined) return got.length === 0;
  if (first === ANY) return fits(rest, got) || (got.length > 0 && fits(shown, got.slice(1)));
  return got.length > 0 && first === got[0] && fits(rest, got.slice(1));
};

/** Returns why an output is not the one that a page shows; null: it is. */
export const difference = (shown: string, got: string): string | null => {
  if (fits(steady(shown), steady(got))) return null;
  return `The page shows\n\n${shown}\n\nand this was printed:\n\n${got}`;
};

/** Says whether each of these lines was printed, in any order. */
export const says = (lines: string, printed: string): boolean => {
  const got = steady(printed);
  return steady(lines).every((line) => got.some((one) => one.includes(line)));
};
