import pino from 'pino';
import { defineHandler } from '../../../handlers';
import { Sweeper } from '../../../workers/sweeper/sweeper';
import { eventually } from '../../helpers/eventually';
import type { OwnMuster } from '../../workflows/ownNode';
import { openOwn } from '../../workflows/ownNode';
import { Requests } from '../../../workflows/temporal/requests';

/**
 * Leaders and queuers that take no turn, as none does where no worker is: the sweeper wakes them
 * less and less often.
 */

const common = {
  target: ({ to }: { to: string }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: () => Promise.resolve({ results: [] }),
};
const handlers = [
  defineHandler<{ to: string }>({ ...common, name: 'plain', leaders: 1 }),
  defineHandler<{ to: string }>({ ...common, name: 'laned', service: (to) => to }),
];
/** In seconds after the first. */
const WAKES = [0, 10, 30, 70, 130, 190];

let muster: OwnMuster;
let sweeper: Sweeper;
beforeAll(async () => {
  muster = await openOwn(handlers);
  sweeper = new Sweeper({
    pool: muster.database.pool,
    requests: new Requests(await muster.client.temporal()),
    prefix: muster.prefix,
    node: 'sweeper',
    leaseMs: 1, // so that whoever it wakes is silent past it again in the next round
    log: pino({ level: 'silent' }),
    everyMs: 50,
  });
});
afterAll(async () => {
  await sweeper.stop();
  await muster.stop();
});

test.each([
  ['leader', 'plain', 'expiredLeaders'],
  ['queuer', 'laned', 'queuerWakes'],
] as const)(
  'a %s that takes no turn is not woken with every round; one that has taken a turn is',
  async (table, handler, count) => {
    const { pool } = muster.database;
    await muster.client.submit(handler, { id: `${table}-1`, payload: { to: 'x' } });
    await pool.query(`update ${table} set expires_at = clock() - interval '1 s' where state = 1`);
    const begun = performance.now();
    sweeper.start();
    await eventually(() => sweeper.counts[count] > 0, { what: 'the first wake' });
    const { rounds } = sweeper.counts;
    await eventually(() => sweeper.counts.rounds > rounds + 3);
    const seconds = (performance.now() - begun) / 1_000;
    const wakes = sweeper.counts[count];
    expect(wakes).toBeLessThanOrEqual(WAKES.filter((at) => at <= seconds).length);
    await pool.query(`update ${table} set turn = turn + 1, state = 1, expires_at = clock() - interval '1 s'`);
    const again = sweeper.counts.rounds;
    await eventually(() => sweeper.counts.rounds > again + 1);
    expect(sweeper.counts[count]).toBeGreaterThan(wakes);
    await sweeper.stop();
  },
  240_000,
);
