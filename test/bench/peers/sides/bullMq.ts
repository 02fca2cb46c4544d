import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Grouper } from './grouper';
import type { Item } from './serve';
import { servePeer } from './serve';

/** BullMQ: a job per task, grouped in the process that works (its batches are not free). */
let redis: Redis;
let queue: Queue<Item>;
let worker: Worker<Item> | null = null;

const NAME = 'bench';
/** Jobs in hand: what is grouped. */
const JOBS_IN_HAND = 1_000;

servePeer({
  open: async (url, _targets, fresh) => {
    redis = new Redis(url, { maxRetriesPerRequest: null });
    if (fresh) await redis.flushdb();
    queue = new Queue<Item>(NAME, { connection: redis });
  },
  submit: (tasks) => queue.addBulk(tasks.map(({ id, payload }) => ({ name: 'call', data: { id, payload } }))),
  work: async (jobs, call, { maxItems }) => {
    await worker?.close();
    const grouper = new Grouper(call, maxItems);
    worker = new Worker<Item>(NAME, ({ data }) => grouper.add(data.payload.target, data), {
      connection: redis,
      concurrency: JOBS_IN_HAND,
    });
    worker.on('error', (error) => process.stderr.write(`bullmq: ${String(error)}\n`));
    while ((await jobs.take(0)).length > 0);
  },
  countEnded: () => queue.getCompletedCount(),
  close: async () => {
    await worker?.close(true);
    await queue.close();
    redis.disconnect();
  },
});
