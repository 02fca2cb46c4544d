import http2 from 'node:http2';
import type { Http2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);

export interface PollSwallower {
  address: string;
  stop(): Promise<void>;
}

/**
 * A way to a Temporal server on which everything is answered but polls: those are taken, and
 * nothing comes back for them.
 */
export const startPollSwallower = async (address: string): Promise<PollSwallower> => {
  const sessions = new Set<Http2Session>();
  const server = http2.createServer();
  server.on('session', (session) => {
    const upstream = http2.connect(`http://${address}`);
    for (const one of [session, upstream]) {
      sessions.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        sessions.delete(one);
        session.destroy();
        upstream.destroy();
      });
    }
    session.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      if (/\/Poll\w+TaskQueue$/.test(headers[':path'] ?? '')) return void stream.resume();
      const asked = upstream.request(
        Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name))),
      );
      asked.on('error', () => stream.destroy());
      stream.on('close', () => asked.close());
      stream.pipe(asked);
      asked.on('response', (answer, flags) => {
        const { ':status': status, ...rest } = answer;
        if ((flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0)
          return void stream.respond({ ':status': status!, ...rest }, { endStream: true });
        stream.respond({ ':status': status!, ...rest }, { waitForTrailers: true });
        let trailers = {};
        asked.on('trailers', (given) => (trailers = given));
        stream.on('wantTrailers', () => stream.sendTrailers(trailers));
        asked.pipe(stream);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
