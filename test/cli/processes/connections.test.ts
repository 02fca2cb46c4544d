import { rmSync } from 'node:fs';
import pino from 'pino';
import { loadSettings } from '../../../workers/config/config';
import { startWorker } from '../../../workers/process';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, temporalAddress } from '../../helpers/database';
import '../../helpers/muster'; // quiets the SDK's own log
import { makeFolder } from '../world';

/** How many database connections the pool of a worker process may have. @slow */

const cwd = makeFolder();
let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(cwd, { recursive: true });
});

test.each<[string, string | undefined, number | undefined, number]>([
  ['nothing is set', undefined, undefined, 20],
  ['the setting', '7', undefined, 7],
  ['the option of who starts it, before the setting', '7', 5, 5],
])('%s: the pool of a worker takes it', async (_, setting, maxConnections, expected) => {
  const env = {
    MUSTER_DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporalAddress(),
    MUSTER_PREFIX: `pool-${database.name}`,
    MUSTER_MAX_CONNECTIONS: setting,
  };
  const worker = await startWorker(await loadSettings({}, { database: true }, { cwd, env }), {
    log: pino({ level: 'silent' }),
    sharesRuntime: true,
    signal: new AbortController().signal,
    ...(maxConnections === undefined ? {} : { maxConnections }),
  });
  try {
    expect(worker.pool.options.max).toBe(expected);
  } finally {
    worker.stop();
    await worker.ended;
  }
});
