import { randomBytes } from 'node:crypto';
import pino from 'pino';
import type { StartedWorker, StartOptions } from '../../workers/worker';
import { startWorker } from '../../workers/worker';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';

/** Options of `startWorker`: what is no option of it, and where it serves its metrics. */

test('`api` is no option, since another process serves it, and is not named among those that are', async () => {
  // Aborted from the start: one that was not refused ends at once.
  const wrong = { databaseUrl: 'postgres://127.0.0.1:1/none', api: { port: 0 }, signal: AbortSignal.abort() };
  const error: unknown = await startWorker({ ...wrong, startTimeoutMs: 0 }).catch((one) => one);
  const { problems } = error as { problems: { path: string; message: string }[] };
  expect(problems).toEqual([{ path: 'api', message: expect.stringMatching(/^unknown setting; known here: /) }]);
  const known = problems[0]!.message.replace(/^.*: /, '').split(', ');
  expect(known).toEqual(expect.arrayContaining(['databaseUrl', 'handlers', 'metrics']));
  expect(known).not.toContain('api');
});

describe('with `metrics`', () => {
  let database: TestDatabase;
  const workers: StartedWorker[] = [];
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await database.drop();
  });
  const prefix = `embed-${randomBytes(5).toString('hex')}`;
  const begin = async (more: Partial<StartOptions>): Promise<StartedWorker> => {
    const temporal = { address: temporalAddress() };
    const worker = await startWorker({ databaseUrl: database.url, prefix, temporal, log: 'silent', ...more });
    workers.push(worker);
    return worker;
  };

  test('they and its health are served until it stops, and a port that is taken ends the start', async () => {
    const lines: { msg: string; url?: string }[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const worker = await begin({ log, metrics: { port: 0 } });
    const { url } = lines.find(({ msg }) => msg === 'serving metrics')!;
    expect(await (await fetch(url!)).text()).toMatch(/^muster_healthy\{part="workers"\} 1$/m);
    const { parts } = (await (await fetch(new URL('/healthz', url))).json()) as { parts: { part: string }[] };
    expect(parts.map(({ part }) => part)).toContain('workers');
    const port = Number(new URL(url!).port);
    await expect(begin({ metrics: { port } })).rejects.toThrow(`--metrics-port: expected a free port, got ${port}`);
    await worker.stop();
    await expect(fetch(url!)).rejects.toThrow('fetch failed');
  });
});
