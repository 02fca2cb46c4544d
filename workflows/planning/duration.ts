export const DAY_MS = 86_400_000;

/**
 * Formats a duration, an age or a wait for people: `450 ms`, `1.5 s`, `90 s`, `12 min`, `30 h`, `9
 * d`. A negative one counts as 0.
 */
export const formatDuration = (ms: number): string => {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole} ms`;
  if (whole < 10_000) return `${Math.round(whole / 100) / 10} s`;
  if (whole < 600_000) return `${Math.round(whole / 1_000)} s`;
  if (whole < 36_000_000) return `${Math.round(whole / 60_000)} min`;
  return whole < 259_200_000 ? `${Math.round(whole / 3_600_000)} h` : `${Math.round(whole / 86_400_000)} d`;
};
