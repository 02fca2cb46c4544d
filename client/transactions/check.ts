import type { Queryable } from '../../postgres/pool';
import { InvalidArgumentError } from '../errors';

/** What tells a library's transaction from a `pg` client, and the adapter that fits it. */
interface Known {
  library: string;
  adapter: string;
  has: (tx: Readonly<Record<string, unknown>>) => boolean;
}
const isFunction = (value: unknown): boolean => typeof value === 'function';
const KNOWN: readonly Known[] = [
  { library: 'Prisma', adapter: 'fromPrisma', has: (tx) => isFunction(tx['$queryRawUnsafe']) },
  { library: 'Kysely', adapter: 'fromKysely', has: (tx) => isFunction(tx['executeQuery']) },
  { library: 'Drizzle', adapter: 'fromDrizzle', has: (tx) => isFunction(tx['execute']) && 'dialect' in tx },
  { library: 'Postgres.js', adapter: 'fromPostgresJs', has: (tx) => isFunction(tx['unsafe']) },
  { library: 'Knex', adapter: 'fromKnex', has: (tx) => isFunction(tx['raw']) && isFunction(tx['commit']) },
  {
    library: 'TypeORM',
    adapter: 'fromTypeOrm',
    has: (tx) => isFunction(tx['query']) && ('queryRunner' in tx || isFunction(tx['startTransaction'])),
  },
];

const ADAPTERS = KNOWN.map(({ adapter }) => `${adapter}(tx)`).join(', ');
const EXPECTED = 'a `pg` client after BEGIN, or another library’s transaction through its adapter';

/**
 * Checks a transaction that a caller passes to a submit: a `pg` client, what an adapter returns, or
 * what has a `query` like it.
 *
 * @throws InvalidArgumentError for anything else: it names the adapters.
 */
export const checkTransaction = (tx: Queryable | undefined): void => {
  if (tx === undefined) return;
  const given = (['object', 'function'].includes(typeof tx) ? tx : null) as Readonly<Record<string, unknown>> | null;
  if (given === null) throw new InvalidArgumentError('tx', EXPECTED, tx, `The adapters: ${ADAPTERS}.`);
  const known = KNOWN.find(({ has }) => has(given));
  if (known !== undefined)
    throw new InvalidArgumentError('tx', EXPECTED, `a transaction of ${known.library}`, `Pass ${known.adapter}(tx).`);
  if (isFunction(given['query']) && isFunction(given['connect']) && 'totalCount' in given)
    throw new InvalidArgumentError('tx', EXPECTED, 'a pool', 'Each of its statements is a transaction: connect first.');
  if (!isFunction(given['query']))
    throw new InvalidArgumentError('tx', EXPECTED, classOf(given), `The adapters: ${ADAPTERS}.`);
};

const classOf = (value: object): string => {
  const { constructor } = value as { constructor?: unknown };
  return typeof value === 'function'
    ? 'a function'
    : isFunction(constructor)
      ? (constructor as { name: string }).name
      : 'an object';
};
