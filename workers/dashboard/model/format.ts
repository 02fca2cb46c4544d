/** How values are written: short, and the exact one beside it. */

const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** Writes a duration by its largest unit, and the next one below ten of it: `2 h 5 min`, `34 s`. */
export const duration = (ms: number): string => {
  const size = Math.abs(ms);
  const at = UNITS.findIndex(([unit]) => size >= unit);
  if (at === -1) return size < 1 ? '0 s' : `${Math.round(size)} ms`;
  const [unit, name] = UNITS[at]!;
  const whole = Math.floor(size / unit);
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((size % unit) / next[0]);
  return whole >= 10 || next === undefined || rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next[1]}`;
};

/** Writes a time as seen from another: `3 min ago`, `in 5 s`. */
export const relative = (at: number, now: number): string => {
  const ms = now - at;
  if (Math.abs(ms) < 1_000) return 'now';
  return ms > 0 ? `${duration(ms)} ago` : `in ${duration(ms)}`;
};

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
export const number = (n: number): string => (Math.abs(n) < 100 && !Number.isInteger(n) ? fine : whole).format(n);

/** Writes a number with its noun: `1 task`, `2,000 tasks`; plurals with `es` are given. */
export const counted = (n: number, noun: string, plural = `${noun}s`): string =>
  `${number(n)} ${n === 1 ? noun : plural}`;

/** Writes counts with their names, without those of nothing: `10 results, 2 later`; or `none`. */
export const namedCounts = (counts: Iterable<readonly [name: string, n: number]>, write = number): string => {
  const some = [...counts].filter(([, n]) => n > 0).map(([name, n]) => `${write(n)} ${name}`);
  return some.length === 0 ? 'none' : some.join(', ');
};

const BYTES = ['B', 'kB', 'MB', 'GB', 'TB'];
export const bytes = (n: number): string => {
  const power = n < 1_000 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log10(n) / 3));
  return `${fine.format(n / 1_000 ** power)} ${BYTES[power]}`;
};

/** Returns the part of a limit that is used, 0 to 1. */
export const share = (n: number, of: number): number => (of <= 0 ? 0 : Math.min(1, Math.max(0, n / of)));

/** Shortens a text that is shown in full on hover. */
export const shorten = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`;

const SHOWN_JSON = 100_000;
/** Writes a value as JSON over several lines, cut where it is very long. */
export const json = (value: unknown): string => {
  const text = JSON.stringify(value, null, 2) ?? 'nothing';
  return text.length <= SHOWN_JSON
    ? text
    : `${text.slice(0, SHOWN_JSON)}\n… ${number(text.length - SHOWN_JSON)} more characters`;
};
