import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { httpHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/**
 * A target that stands in the URL is a caller's choice: what the downstream says about that URL
 * concerns the target, and the work of others goes on.
 */

let server: Server;
let muster: TestMuster;
beforeAll(async () => {
  server = createServer((request, response) => {
    const [, index] = /^\/([^/]*)\/_bulk$/.exec(request.url!) ?? [];
    request.resume().on('end', () => {
      const status = Number(/^s(\d+)/.exec(index ?? '')?.[1] ?? 200);
      response.writeHead(status, status < 400 && status >= 300 ? { location: '/elsewhere' } : {}).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const handler = (name: string): Handler =>
    httpHandler({
      kind: 'http',
      name,
      target: 'index',
      limits: { maxItems: 10 },
      linger: { lingerMs: 20 },
      request: { url: `http://127.0.0.1:${port}/{{target}}/_bulk` },
      response: { perItem: false },
    });
  muster = await startMuster([handler('bulk'), handler('locked')]);
});
afterAll(async () => {
  await muster.stop();
  server.close();
});

const submit = (handler: string, ...indexes: string[]) =>
  muster.client.submit(
    handler,
    indexes.map((index) => ({ id: `${handler} ${index}`, payload: { index } })),
  );
const paused = async (handler: string): Promise<boolean> =>
  (await muster.client.status()).find((one) => one.handler === handler)?.paused != null;

test('one task’s 404 fails that task, a redirect or 405 pauses that target, and the handler goes on', async () => {
  await submit('bulk', 's404', 's410', 's301', 's405');
  const ended = await muster.client.waitFor(['bulk s404', 'bulk s410'], { timeoutMs: 30_000 });
  expect(ended.map(({ state }) => state)).toEqual(['failed', 'failed']);
  expect(ended[0]!.error).toContain('HTTP 404');
  const targets = `select t.key from target t where t.paused order by 1`;
  await eventually(async () => (await muster.database.pool.query(targets)).rows.length === 2);
  expect((await muster.database.pool.query(targets)).rows).toEqual([{ key: 's301' }, { key: 's405' }]);
  expect(await paused('bulk')).toBe(false);
  await submit('bulk', 'fine');
  expect((await muster.client.waitFor(['bulk fine'], { timeoutMs: 30_000 }))[0]).toMatchObject({ state: 'succeeded' });
});

test('a refused credential is the handler’s: it is paused', async () => {
  await submit('locked', 's401');
  await eventually(() => paused('locked'));
  await expectWhole(muster.client);
});
