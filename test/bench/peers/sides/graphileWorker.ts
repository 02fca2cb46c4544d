import { Logger, run, runMigrations } from 'graphile-worker';
import type { Runner } from 'graphile-worker';
import pg from 'pg';
import { CALLS_IN_FLIGHT } from '../../cases';
import { Grouper } from './grouper';
import type { Item } from './serve';
import { servePeer } from './serve';

/** graphile-worker: a job per task, grouped in the process that works. */
let pool: pg.Pool;
let runner: Runner | null = null;
let ended = 0;

const TASK = 'call';
/** Jobs in hand: what is grouped. More of them take longer each. */
const JOBS_IN_HAND = 1_000;
/** What is done is not told, only what went wrong. */
const ERRORS_ONLY = new Logger(() => (level, message) => {
  if (level === 'error') process.stderr.write(`graphile-worker: ${message}\n`);
});

servePeer({
  open: async (url) => {
    pool = new pg.Pool({ connectionString: url, max: CALLS_IN_FLIGHT + 2 });
    await runMigrations({ pgPool: pool });
  },
  submit: (tasks) =>
    pool.query(
      `select graphile_worker.add_jobs(array(
         select row($1, t.payload, null, null, null, null, null, null)::graphile_worker.job_spec
         from json_to_recordset($2) t (payload json)))`,
      [TASK, JSON.stringify(tasks.map(({ id, payload }) => ({ payload: { id, payload } })))],
    ),
  work: async (jobs, call, { maxItems }) => {
    await runner?.stop();
    const grouper = new Grouper(call, maxItems);
    runner = await run({
      pgPool: pool,
      concurrency: JOBS_IN_HAND,
      pollInterval: 20,
      noHandleSignals: true,
      logger: ERRORS_ONLY,
      parsedCronItems: [],
      taskList: {
        [TASK]: async (payload) => {
          const task = payload as Item;
          await grouper.add(task.payload.target, task);
          ended++;
        },
      },
    });
    while ((await jobs.take(0)).length > 0);
  },
  // It deletes what has ended.
  countEnded: async () => {
    const { rows } = await pool.query<{ n: string }>('select count(*) as n from graphile_worker._private_jobs');
    return Number(rows[0]!.n) === 0 ? ended : 0; // of all runs
  },
  close: async () => {
    await runner?.stop();
    await pool.end();
  },
});
