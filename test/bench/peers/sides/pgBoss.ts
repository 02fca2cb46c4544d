import PgBoss from 'pg-boss';
import { CALLS_IN_FLIGHT } from '../../cases';
import type { Item } from './serve';
import { servePeer } from './serve';

/** pg-boss: a queue per target, from which batches are fetched as soon as they are full. */
let boss: PgBoss;

servePeer({
  open: async (url, targets, fresh) => {
    boss = new PgBoss({ connectionString: url, max: CALLS_IN_FLIGHT + 2, supervise: false, schedule: false });
    boss.on('error', (error) => process.stderr.write(`pg-boss: ${String(error)}\n`));
    await boss.start();
    if (fresh) for (const target of targets) await boss.createQueue(target);
  },
  submit: (tasks) =>
    boss.insert(tasks.map(({ target, id, payload }) => ({ name: target, data: { id, payload }, retryLimit: 0 }))),
  work: (jobs, call) => {
    const loop = async (): Promise<void> => {
      for (let next = await jobs.take(0); next.length > 0; next = await jobs.take(0)) {
        const { target, n } = next[0]!;
        const fetched = await boss.fetch<Item>(target, { batchSize: n });
        if (fetched.length === 0) continue;
        await call(
          target,
          fetched.map(({ data }) => data),
        );
        await boss.complete(
          target,
          fetched.map(({ id }) => id),
        );
      }
    };
    return Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, loop));
  },
  countEnded: async () => {
    const { rows } = await boss
      .getDb()
      .executeSql("select count(*) as n from pgboss.job where state = 'completed'", []);
    return Number((rows[0] as { n: string }).n);
  },
  close: () => boss.stop({ graceful: false }),
});
