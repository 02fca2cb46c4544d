import { defineHandler } from '../../handlers';
import type { Batch, Handler, HandlerOptions, ItemResult, SubmitAnswer } from '../../handlers';
import type { Pool } from '../../postgres/pool';
import { eventually } from '../helpers/eventually';

/** Handlers whose downstream only accepts, unless a test says otherwise. */

/** What a call answers, by target; without: accepted under `<target>/<batch>`. */
export const answers = new Map<string, (batch: Batch) => Promise<SubmitAnswer> | SubmitAnswer>();
export const calls: { target: string; ids: string[] }[] = [];

const define = (name: string, more: Partial<HandlerOptions> = {}): Handler =>
  defineHandler({
    name,
    target: (payload) => (payload as { to: string }).to,
    limits: { maxItems: 8 },
    linger: { lingerMs: 20 },
    concurrency: { perTarget: 50, perHandler: 200 },
    retry: { delayed: { baseMs: 50, maxMs: 100 }, maxAttempts: 3 },
    submit: async (batch) => {
      calls.push({ target: batch.target, ids: batch.tasks.map(({ id }) => id) });
      return (
        (await answers.get(batch.target)?.(batch)) ?? { status: 'accepted', reference: `${batch.target}/${batch.id}` }
      );
    },
    ...more,
  });
export const handlers = [
  define('plain'),
  define('big', { limits: { maxItems: 2_500 } }),
  define('lane', { service: (target) => target, lane: { onInvalid: 'halt' } }),
  define('heavy', { limits: { maxItems: 1, maxWeightInFlight: { perHandler: 1 } } }),
];

export const ids = (to: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${to}-${i}`);
export const oks = (of: readonly string[]): ItemResult[] =>
  of.map((id) => ({ id, status: 'ok', result: `done ${id}` }));
/**
 * Waits until so many batches of a target with numbers above this one are accepted: which of two is
 * accepted first is open.
 */
export const acceptedIn = (pool: Pool, to: string, after: number, count: number) =>
  eventually(async () => {
    const { rows } = await pool.query<{ batchId: number; reference: string }>({
      text: 'select b.id as "batchId", b.reference from batch b join target t on t.id = b.target_id where t.key = $1 and b.id > $2 and b.state = 1 and b.reference is not null order by b.id',
      values: [to, after],
    });
    return rows.length >= count && rows;
  });
