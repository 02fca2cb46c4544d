import { z } from 'zod';
import { MAX_WAIT_S } from '../limits';

/** What several routes have in common. */

export const waitQuery = z
  .number()
  .int()
  .min(0)
  .max(MAX_WAIT_S)
  .default(0)
  .describe(`Seconds to wait for the end before answering; at most ${MAX_WAIT_S}`);

export const isWaiting = (query: Readonly<Record<string, unknown>>): boolean => (query['wait'] ?? '0') !== '0';

/** A call that names so many things holds a database connection for long. */
const MANY = 500;

/** Says whether an unchecked body has many entries in this list, or says so many by a number. */
export const hasMany =
  (field: string) =>
  (body: unknown): boolean => {
    const named = (body as Readonly<Record<string, unknown>> | null | undefined)?.[field];
    return (Array.isArray(named) ? named.length : Number(named)) >= MANY;
  };

/** One event of a stream of server-sent events. */
export const serverEvent = z
  .object({
    event: z
      .enum(['progress', 'end', 'stopping', 'problem'])
      .describe(
        'stopping: connect again, another process may answer; problem: problem details, after which the stream ends',
      ),
    data: z.string().describe('JSON'),
  })
  .meta({ id: 'ServerEvent' });

/** Returns where the next page starts; left out: this was the last. */
export const nextOf = <T>(page: readonly T[], limit: number, key: (one: T) => string): { next?: string } =>
  page.length < limit ? {} : { next: key(page.at(-1)!) };
export const next = z.string().optional().describe('Pass it as `after` to get the next page; absent on the last page');
