import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A downstream with a rate of its own, which it tells nobody but by refusals. */
export interface Downstream {
  url: string;
  /** Items that it has applied, with `performance.now()` of their call, by handler. */
  applied: { id: string; handler: string; at: number }[];
  /** Calls that it refused. */
  refused: number;
  /** Refuses every call of the limited handler until then (`performance.now()`). */
  refuseUntil(at: number): void;
  close(): Promise<void>;
}

export const LIMITED = 'limited';
/** What a call takes. */
const CALL_MS = 50;

/**
 * Starts it. Calls of `limited` beyond `perSecond` get 429, with when the next one would be taken;
 * Infinity: only while told to refuse.
 */
export const startDownstream = async (perSecond: number): Promise<Downstream> => {
  const applied: Downstream['applied'] = [];
  let [refused, nextAt, refusing] = [0, 0, 0];
  const stepMs = 1_000 / perSecond;
  /** Returns in how many ms a call would be taken; 0: it is. */
  const takes = (handler: string, now: number): number => {
    if (handler !== LIMITED) return 0;
    if (now < refusing) return Math.max(1, refusing - now);
    // What was not used is lost but for two calls: it is a rate, not a quota.
    nextAt = Math.max(nextAt, now - 2 * stepMs);
    if (nextAt > now) return nextAt - now;
    nextAt += stepMs;
    return 0;
  };
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const handler = request.url!.slice(1);
      const now = performance.now();
      const waitMs = takes(handler, now);
      if (waitMs > 0) {
        refused++;
        response.writeHead(429, { 'retry-after-ms': String(Math.ceil(waitMs)) }).end();
        return;
      }
      for (const id of JSON.parse(body) as string[]) applied.push({ id, handler, at: now });
      setTimeout(() => response.end('{}'), CALL_MS);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    applied,
    get refused() {
      return refused;
    },
    refuseUntil: (at) => (refusing = at),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += String(part);
  return body;
};
