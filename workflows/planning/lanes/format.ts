/** Returns an age or a wait as a person reads it. */
export const formatDuration = (ms: number): string => {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1_000) return `${whole} ms`;
  if (whole < 120_000) return `${Math.round(whole / 1_000)} s`;
  return whole < 7_200_000 ? `${Math.round(whole / 60_000)} min` : `${Math.round(whole / 3_600_000)} h`;
};

const FIRST_PLACES = ['', 'first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth'];

/** Returns a place as an ordinal: in words up to nine; 1 is the head. */
export const formatPlace = (place: number): string => {
  const word = FIRST_PLACES[place];
  if (word !== undefined && word !== '') return word;
  const lastTwo = place % 100;
  const ending = lastTwo >= 11 && lastTwo <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th');
  return `${place}${ending}`;
};

export const formatKey = (key: string): string => (key === '*' ? 'an undeclared set' : `key ${key}`);

export const formatBatches = (ids: readonly number[]): string =>
  ids.length === 1
    ? `batch ${ids[0]}`
    : `batches ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ` and ${ids.length - 5} more` : ''}`;
