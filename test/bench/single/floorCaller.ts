import type pg from 'pg';
import { floorPool, insertOne } from '../floor/floorStore';
import { serve } from '../rig/child';
import type { Calls } from './callers';
import { call } from './callers';

/** The floor's submitting process: one insert for each task. */
let pool: pg.Pool;

serve(
  {
    open: ({ databaseUrl, connections }: { databaseUrl: string; connections: number }) => {
      pool = floorPool(databaseUrl, connections);
    },
    call: (calls: Calls) => call(calls, (task) => insertOne(pool, task)),
  },
  () => pool.end(),
);
