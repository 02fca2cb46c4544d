import { parentPort, workerData } from 'node:worker_threads';
import { createPool } from '../../../postgres/pool';
import { Keeper } from './keeper';
import type { ThreadData, ToThread } from './messages';
import { SignOfLife } from './shared';
import { Silence } from './silence';

/**
 * The heartbeat thread of a worker process: its own event loop and its own connection, so that no
 * work can block it.
 */

const LOOK_MS = 100;

const port = parentPort!;
const { pool: options, signOfLife } = workerData as ThreadData;
const pool = createPool(options);
const keeper = new Keeper(pool, (message) => port.postMessage(message));
const silence = new Silence(new SignOfLife(signOfLife), LOOK_MS);
const timer = setInterval(() => keeper.look(silence.look()), LOOK_MS);

port.on('message', (message: ToThread) => {
  if (message.kind === 'beat') keeper.setBeat(message.beat);
  else if (message.kind === 'hold') keeper.hold(message.key, message.hold, message.memory);
  else if (message.kind === 'partitions') keeper.setPartitions(message.terms);
  else if (message.kind === 'drop') keeper.drop(message.key);
  else {
    clearInterval(timer);
    port.close();
    void pool.end(); // after the writes in progress: then nothing keeps the thread
  }
});
