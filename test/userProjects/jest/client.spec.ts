import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient, httpHandler } from 'temporal-muster';
import { startMuster } from 'temporal-muster/testing';

const server = createServer((request, response) => {
  request.resume().on('end', () => response.end(JSON.stringify({ results: [{ status: 'ok' }] })));
});
beforeAll(() => new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening)));
afterAll(() => server.close());

test('a client of its own wakes the workers, and a JSON handler calls its downstream', async () => {
  const { port } = server.address() as AddressInfo;
  const handler = httpHandler({
    kind: 'http',
    name: 'notes',
    target: 'to',
    limits: { maxItems: 1 },
    request: { url: `http://127.0.0.1:${port}/notes`, item: '{{payload}}' },
    response: { results: 'results', matchBy: 'position', status: { path: 'status', ok: ['ok'] } },
  });
  const muster = await startMuster({ handlers: [handler] });
  const { databaseUrl, prefix, temporalAddress: address } = muster;
  const failures: Error[] = [];
  const onRingFailure = (error: Error) => void failures.push(error);
  const client = createClient({ databaseUrl, prefix, handlers: [handler], temporal: { address }, onRingFailure });
  try {
    await client.submit('notes', { id: 'n1', payload: { to: 'Lund' } });
    const [note] = await client.waitFor('n1', { timeoutMs: 30_000 });
    expect(note).toMatchObject({ state: 'succeeded' });
    expect(failures).toEqual([]);
  } finally {
    await client.close();
    await muster.stop();
  }
});
