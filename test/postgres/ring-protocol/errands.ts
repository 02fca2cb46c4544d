import type { Batch, Handler, SubmitAnswer } from '../../../handlers';
import { defineHandler, HaltError } from '../../../handlers';
import type { Pool } from '../../../postgres/pool';
import type { Finding } from './checker';
import type { Dice } from './tools/dice';

interface Errand {
  to: string;
  poison?: true;
  /** Of the handler that tells tasks apart by it (H6). */
  key?: string;
}

export const HANDLERS = ['errands', 'single', 'keyed'] as const;

/** Tasks of the same key that were accepted before and have not come to an end. */
const EARLIER = `
select e.id as earlier, t.id as later from task t join task e on e.target_id = t.target_id and e.key = t.key and e.seq < t.seq join task_state s on s.seq = e.seq
where t.id = any($1::text[]) and s.state < 3`;

/**
 * The downstream of three handlers (leader sets, a leader a target, and distinct keys): gives every
 * answer that there is, and notes what must not be called together.
 */
export class Errands {
  private readonly inCall = new Map<string, number>();
  private readonly keysInCall = new Map<string, string>();
  calls = 0;
  /**
   * Two poison tasks in a batch of two pause their handler whenever it is resumed (H4), and so does
   * a halt, until an operator mends the downstream: of thousands of tasks that wait in the end, one
   * call in fifty would pause it again more often than it is resumed.
   */
  mended = false;

  constructor(
    private readonly dice: Dice,
    private readonly found: Finding[],
    private readonly pool: () => Pool,
  ) {}

  handlers(): Handler[] {
    return HANDLERS.map(
      (name) =>
        defineHandler<Errand>({
          name,
          target: ({ to }) => to,
          limits: { maxItems: 4 },
          linger: { lingerMs: name === 'errands' ? 2_000 : 500 },
          leaders: name === 'single' ? 'target' : 2,
          concurrency: { perTarget: name === 'errands' ? 1 : 2, perHandler: 3 },
          ...(name === 'keyed' ? { distinctBy: ({ key }: Errand) => key ?? '' } : {}),
          idempotency: { by: 'batch' },
          timeoutMs: 20_000,
          retry: { inPlace: { times: 0 }, delayed: { baseMs: 2_500, maxMs: 6_000 }, maxAttempts: 4 },
          submit: (batch) => this.call(batch),
        }) as Handler,
    );
  }

  private async call(batch: Batch<Errand>): Promise<SubmitAnswer> {
    this.calls++;
    const attempt = batch.attempt;
    const other = this.inCall.get(batch.id);
    if (other === attempt)
      this.found.push({ kind: 'together', what: `attempt ${attempt} of batch ${batch.id} is called twice` });
    this.inCall.set(batch.id, attempt);
    const keys = batch.tasks.flatMap(({ payload: { to, key } }) => (key === undefined ? [] : [`${to}/${key}`]));
    await this.watchKeys(batch, keys);
    await this.dice.delay(8);
    if (this.inCall.get(batch.id) === attempt) {
      this.inCall.delete(batch.id);
      for (const key of keys) this.keysInCall.delete(key);
    }
    if (!this.mended && batch.tasks.some(({ payload }) => payload.poison))
      return { status: 'rejected', error: 'poison' };
    if (this.dice.chance(0.05, 'answer: later')) return { status: 'later', retryAfterMs: 3_000 };
    if (this.dice.chance(0.03, 'answer: later, handler'))
      return { status: 'later', retryAfterMs: 2_500, scope: 'handler' };
    if (!this.mended && this.dice.chance(0.02, 'answer: halt')) throw new HaltError('credential expired');
    if (this.dice.chance(0.04, 'answer: unknown')) throw new Error('connection reset');
    const some = this.dice.chance(0.1, 'answer: some retried') ? this.dice.random() : 0;
    return { results: batch.tasks.map(({ id }) => ({ id, status: this.dice.random() < some ? 'retry' : 'ok' })) };
  }

  /** H6: equal keys never share a batch nor two batches in flight, and keep their order. */
  private async watchKeys(batch: Batch<Errand>, keys: readonly string[]): Promise<void> {
    for (const [i, key] of keys.entries()) {
      const other = keys.indexOf(key) < i ? batch.id : this.keysInCall.get(key);
      if (other !== undefined && (other !== batch.id || keys.indexOf(key) < i))
        this.found.push({ kind: 'together', what: `key ${key} is in batch ${batch.id} and in batch ${other}` });
      this.keysInCall.set(key, batch.id);
    }
    if (keys.length === 0) return;
    const { rows } = await this.pool().query<{ earlier: string; later: string }>({
      text: EARLIER,
      values: [batch.tasks.map(({ id }) => id)],
    });
    for (const { earlier, later } of rows)
      this.found.push({ kind: 'disorder', what: `${later} is called before ${earlier}, which has its key` });
  }
}
