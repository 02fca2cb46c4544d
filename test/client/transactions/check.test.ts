import { fromTypeOrm } from '../../../client';
import type { Queryable } from '../../../postgres/pool';
import { checkTransaction } from '../../../client/transactions/check';
import { databaseErrorOf } from '../../../client/transactions/databaseError';
import { portable, withQuestionMarks } from '../../../client/transactions/portable';

/** What is passed as a transaction and is none; that of each library itself: `scenario.ts`. */

class Transaction {
  commit(): void {
    // of a library that has no adapter
  }
}
const ADAPTERS =
  'The adapters: fromPrisma(tx), fromKysely(tx), fromDrizzle(tx), fromPostgresJs(tx), fromKnex(tx), fromTypeOrm(tx).';
const EXPECTED = 'tx: expected a `pg` client after BEGIN, or another library’s transaction through its adapter, got';

test.each([
  [{}, 'Object'],
  [new Transaction(), 'Transaction'],
  [Object.create(null), 'an object'],
  [() => undefined, 'a function'],
  ['begin', 'begin'],
  [7, 7],
  [null, null],
])('%p is refused with the names of all adapters', (tx, got) => {
  expect(() => checkTransaction(tx as Queryable)).toThrow(`${EXPECTED} ${JSON.stringify(got)}. ${ADAPTERS}`);
});

test('what has a query, as a client of pg has, is taken', () => {
  const query = (): never => {
    throw new Error('never asked');
  };
  expect(() => checkTransaction({ query })).not.toThrow();
  expect(() => checkTransaction(undefined)).not.toThrow();
  expect(() => checkTransaction(fromTypeOrm({}))).not.toThrow();
});

test('an entity manager of TypeORM outside of a transaction is told so', async () => {
  await expect(fromTypeOrm({}).query({ text: 'select 1' })).rejects.toThrow(
    'tx: expected a transaction that has begun, got "an entity manager outside of one".',
  );
});

test('an error of Postgres is found in what a library wraps it in', () => {
  const ofDriver = Object.assign(new Error('no'), { code: '25P01', severity: 'ERROR' });
  expect(databaseErrorOf(ofDriver)).toBe(ofDriver);
  expect(databaseErrorOf(new Error('query failed', { cause: ofDriver }))).toBe(ofDriver);
  const wrapped = { meta: { code: '40001', message: 'try again' }, message: 'Raw query failed' };
  expect(databaseErrorOf(wrapped)).toMatchObject({ code: '40001', message: 'try again', cause: wrapped });
  const cause = { originalCode: '55P03', originalMessage: 'lock' };
  expect(databaseErrorOf({ meta: { driverAdapterError: { cause } } })).toMatchObject({
    code: '55P03',
    message: 'lock',
  });
  const other = new Error('of another kind');
  expect(databaseErrorOf(other)).toBe(other);
});

test('a library gets scalars alone: the server makes arrays and JSON of them', () => {
  const text = 'select $1::int[], $2::jsonb, $3::json, $4::int, $1::int[] ? $5';
  const sent = portable({ text, values: [[1, null], '{}', '[]', 7, ['a"b', true]] });
  expect(sent).toEqual({
    text: 'select ($1::text)::int[], ($2::text)::jsonb, ($3::text)::json, $4::int, ($1::text)::int[] ? $5',
    values: ['{"1",NULL}', '{}', '[]', 7, '{"a\\"b","true"}'],
  });
  expect(withQuestionMarks(sent)).toEqual({
    text: 'select (?::text)::int[], (?::text)::jsonb, (?::text)::json, ?::int, (?::text)::int[] \\? ?',
    values: ['{"1",NULL}', '{}', '[]', 7, '{"1",NULL}', '{"a\\"b","true"}'],
  });
});
