import { request } from 'node:http';
import type { MetricsServer } from '../../../workers/metrics/server';
import { startMetrics } from '../../../workers/metrics/server';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

/** For which names the metrics of a worker answer: a rebound web page asks for its site. */

let database: TestDatabase;
let local: MetricsServer;
let open: MetricsServer;
beforeAll(async () => {
  database = await createDatabase();
  local = await startMetrics({ pool: database.pool, port: 0 });
  open = await startMetrics({ pool: database.pool, port: 0, host: '0.0.0.0' });
});
afterAll(async () => {
  await local?.stop();
  await open?.stop();
  await database.drop();
});

/** `fetch` would set the header by itself. */
const ask = (server: MetricsServer, path: string, host: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(server.url);
    const asking = request({ host: '127.0.0.1', port, path, headers: { host } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode!, text }));
    });
    asking.on('error', reject);
    asking.end();
  });

const PATHS = ['/metrics', '/healthz', '/other'];

test.each(['127.0.0.1', '127.0.0.1:9464', 'localhost', 'LOCALHOST:9464', '[::1]', '[::1]:9464', '127.0.1.1'])(
  'on the loopback, a request for %s is answered',
  async (host) => {
    const statuses = await Promise.all(PATHS.map(async (path) => (await ask(local, path, host)).status));
    expect(statuses).toEqual([200, 200, 404]);
  },
);

test.each(['evil.example', 'evil.example:9464', 'localhost.evil.example', '127.0.0.1.evil.example:9464', '10.0.0.7'])(
  'on the loopback, a request for %s is refused, and nothing is read for it',
  async (host) => {
    for (const path of PATHS) {
      const { status, text } = await ask(local, path, host);
      expect([path, status, text]).toEqual([path, 403, expect.stringMatching(/^Host: expected this machine .*\n$/)]);
    }
    expect((await ask(open, '/metrics', host)).status).toBe(200);
  },
);
