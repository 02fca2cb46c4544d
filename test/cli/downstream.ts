import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Order {
  id: string;
  country: string;
  n: number;
  /** What the downstream does with it: `lost` breaks the connection after the effect. */
  end?: 'ok' | 'failed' | 'lost';
}

/** A batch API over HTTP in the test's process, which the worker's process calls. */
export interface Downstream {
  url: string;
  calls: { target: string; ids: string[] }[];
  /** Calls arrive but are answered only when the returned function is called. */
  hold(): () => void;
  close(): Promise<void>;
}

export const startDownstream = async (): Promise<Downstream> => {
  const calls: Downstream['calls'] = [];
  let gate: Promise<void> = Promise.resolve();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const orders = JSON.parse(Buffer.concat(chunks).toString()) as Order[];
    calls.push({ target: decodeURIComponent(request.url!.slice(1)), ids: orders.map(({ id }) => id) });
    await gate;
    if (orders.some(({ end }) => end === 'lost')) return void request.socket.destroy();
    const results = orders.map(({ id, n, end = 'ok' }) =>
      end === 'ok' ? { id, status: 'ok', result: { double: n * 2 } } : { id, status: 'failed', error: 'no such thing' },
    );
    response.setHeader('content-type', 'application/json').end(JSON.stringify(results));
  };
  const server = createServer(
    (request, response) => void answer(request, response).catch(() => request.socket.destroy()),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    hold: () => {
      let open = (): void => undefined;
      gate = new Promise((resolve) => (open = resolve));
      return () => open();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
