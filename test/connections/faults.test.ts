import { concernsStore, typedError } from '../../postgres/errors';

/** Whose fault an error of Postgres is. */

const ofServer = (code: string): unknown =>
  typedError(Object.assign(new Error('refused'), { code, severity: 'ERROR' }), false);

test.each([
  ['08006', true, 'a lost connection'],
  ['25006', true, 'only reads are taken'],
  ['53100', true, 'the disk is full'],
  ['42P01', true, 'a table is missing'],
  ['42501', true, 'a right is missing'],
  ['26000', true, 'a pooler lost a statement'],
  ['57014', false, 'it took too long'],
  ['55P03', false, 'a lock was in the way'],
  ['22P05', false, 'a value has no form here'],
  ['54000', false, 'a value is too large'],
  ['23505', false, 'a constraint refused it'],
])('%s concerns all statements: %s (%s)', (code, expected) => expect(concernsStore(ofServer(code))).toBe(expected));

test('what Postgres did not say is the fault of what was done', () => {
  expect(concernsStore(new TypeError('body: expected an object'))).toBe(false);
});
