/** A figure of `bench:queuer`: one JSON line, and a row of the table. */
export interface Measure {
  measure: string;
  value: number | Record<string, number>;
  promise?: string;
  kept?: boolean;
}

export const tableOf = (measures: readonly Measure[]): string => {
  const width = Math.max(...measures.map(({ measure }) => measure.length));
  return measures
    .map(({ measure, value, promise, kept }) => {
      const figures =
        typeof value === 'number'
          ? String(value)
          : Object.entries(value)
              .map(([name, n]) => `${name}: ${n}`)
              .join(', ');
      return `${measure.padEnd(width)}  ${figures}${promise === undefined ? '' : `  (${promise}: ${kept === true ? 'kept' : 'BROKEN'})`}`;
    })
    .join('\n');
};
