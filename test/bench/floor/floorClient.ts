import type pg from 'pg';
import type { Arrivals } from '../arrive';
import { arrive } from '../arrive';
import { serve } from '../rig/child';
import { copyIn, floorPool } from './floorStore';

/** The floor's submitting process: COPY, each chunk its own transaction. */
let pool: pg.Pool;

serve(
  {
    open: (databaseUrl: string) => {
      pool = floorPool(databaseUrl, 10);
    },
    submit: (arrivals: Arrivals) =>
      arrive(arrivals, async (tasks) => {
        const client = await pool.connect();
        try {
          await copyIn(client, tasks);
        } finally {
          client.release();
        }
      }),
  },
  () => pool.end(),
);
