import type pg from 'pg';

/** A column as Postgres describes a statement's result. */
export interface ResultColumn {
  name: string;
  /** What the product's pool makes of its values. */
  type: string;
}

interface Field {
  name: string;
  dataTypeID: number;
}
/** What `pg` calls on a query that brings its own protocol messages. */
interface Wire {
  parse(message: { name: string; text: string; types: number[] }): void;
  describe(message: { type: 'S'; name: string }): void;
  sync(): void;
}

/** Has Postgres parse and describe a statement, which is not run. */
export const describeStatement = (client: pg.Client, text: string): Promise<ResultColumn[]> =>
  new Promise((resolve, reject) => {
    let fields: Field[] = [];
    client.query({
      submit(wire: Wire) {
        wire.parse({ name: '', text, types: [] });
        wire.describe({ type: 'S', name: '' });
        wire.sync();
      },
      handleRowDescription: (message: { fields: Field[] }) => void (fields = message.fields),
      handleError: (error: Error) => reject(error),
      handleReadyForQuery: () =>
        resolve(fields.map(({ name, dataTypeID }) => ({ name, type: TYPES.get(dataTypeID) ?? `oid ${dataTypeID}` }))),
    } as never);
  });

/** By oid: as postgres/pool.ts and the driver read them. */
const TYPES: ReadonlyMap<number, string> = new Map([
  ...[20, 21, 23, 26, 700, 701].map((oid) => [oid, 'number'] as const), // int8, int2, int4, oid, float4, float8
  ...[1005, 1007, 1016, 1022].map((oid) => [oid, 'number[]'] as const),
  ...[18, 19, 25, 705, 1043, 1700, 2950].map((oid) => [oid, 'string'] as const), // char, name, text, unknown, varchar, numeric, uuid
  ...[1003, 1009, 2951].map((oid) => [oid, 'string[]'] as const),
  [16, 'boolean'],
  [1000, 'boolean[]'],
  [17, 'Buffer'],
  [1184, 'Date'],
  [1185, 'Date[]'],
  [114, 'json'],
  [3802, 'json'],
  [199, 'json[]'],
  [3807, 'json[]'],
]);
