export const because = (error: string | null): string => (error === null ? '' : `: ${error}`);

export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** Returns a duration as a person reads it. */
export const span = (ms: number): string => {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 10_000) return `${whole} ms`;
  if (whole < 600_000) return `${Math.round(whole / 1_000)} s`;
  return whole < 36_000_000 ? `${Math.round(whole / 60_000)} min` : `${Math.round(whole / 3_600_000)} h`;
};
