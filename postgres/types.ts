import pg from 'pg';

// int8 as a number: seq = submit_seq * 16384 + i stays below 2^53 for 5e11 submits; batch ids and
// counts are far smaller.
const INT8 = 20;
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8 && format !== 'binary') return Number;
    // arrays of int8
    if (oid === 1016 && format !== 'binary')
      return (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number));
    return pg.types.getTypeParser(oid, format) as (value: string) => unknown;
  }) as pg.CustomTypesConfig['getTypeParser'],
};
