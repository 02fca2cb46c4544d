const FIRST_PLACES = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth'];

/** Returns a place as an ordinal number, in words up to nine: `first`, `second`, `21st`. */
export const formatPlace = (place: number): string => {
  const word = FIRST_PLACES[place - 1];
  if (word !== undefined) return word;
  const lastTwo = place % 100;
  const ending = lastTwo >= 11 && lastTwo <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th');
  return `${place}${ending}`;
};

export const formatKey = (key: string): string => (key === '*' ? 'an undeclared set' : `key ${key}`);

export const formatBatches = (ids: readonly number[]): string =>
  ids.length === 1
    ? `batch ${ids[0]}`
    : `batches ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ` and ${ids.length - 5} more` : ''}`;
