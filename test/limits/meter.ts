import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A downstream that records when calls began, and how many were with it at once. */
export interface Metered {
  url: string;
  /** `performance.now()` of each call, with its path. */
  calls: { at: number; path: string }[];
  /** Most calls at once since the last time that this was asked. */
  most(path?: string): number;
  close(): Promise<void>;
}

/** Starts one that answers each call after `ms`. */
export const startMetered = async (ms: number): Promise<Metered> => {
  const calls: Metered['calls'] = [];
  const now = new Map<string, number>();
  const most = new Map<string, number>();
  const count = (path: string, by: number): void => {
    const n = (now.get(path) ?? 0) + by;
    now.set(path, n);
    most.set(path, Math.max(n, most.get(path) ?? 0));
  };
  const server = createServer((request, response) => {
    const path = request.url!;
    calls.push({ at: performance.now(), path });
    const keys = ['', path];
    for (const key of keys) count(key, 1);
    request.resume();
    request.on('end', () =>
      setTimeout(() => {
        for (const key of keys) count(key, -1);
        response.end('[]');
      }, ms),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    most: (path = '') => {
      const n = most.get(path) ?? 0;
      most.set(path, now.get(path) ?? 0);
      return n;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** Returns how many calls began within `fromMs` to `toMs` (`performance.now()`). */
export const callsIn = ({ calls }: Pick<Metered, 'calls'>, fromMs: number, toMs: number, path?: string): number =>
  calls.filter((call) => call.at >= fromMs && call.at < toMs && (path === undefined || call.path === path)).length;

/** Returns the most calls that began within any `ms` since `fromMs`. */
export const mostWithin = ({ calls }: Pick<Metered, 'calls'>, ms: number, fromMs: number, toMs = Infinity): number => {
  const starts = calls.filter(({ at }) => at >= fromMs && at < toMs).map(({ at }) => at);
  return Math.max(0, ...starts.map((start, i) => starts.slice(i).filter((at) => at < start + ms).length));
};
