import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** What becomes of bytes: they pass, they wait to pass later, or they are lost without a sign. */
type Flow = 'pass' | 'hold' | 'lose';

/**
 * A way to a server over TCP that can fail in the ways networks do. One at a time for all its
 * connections.
 */
export interface Proxy {
  port: number;
  /** The same URL through the proxy. */
  through(url: string): string;
  /** How many connections were opened through it so far, and how many of them are open. */
  opened(): number;
  open(): number;
  /** Everything waits, on connections that are there and on new ones, until `resume`. */
  stall(): void;
  /**
   * The connections that are there are half open from now on, for good: nothing comes through, and
   * no side is told. New ones work.
   */
  cut(which?: 'both' | 'answers'): void;
  /** As soon as a client's bytes hold this text: they pass, and then its connection is cut. */
  cutAt(text: string, which?: 'both' | 'answers'): void;
  /** From now on each way takes so many ms; bytes stay in order. 0: none. */
  delay(ms: number): void;
  /** The connections that are there are reset, both sides are told. */
  reset(): void;
  /** New connections are reset at once, until `resume`. */
  refuse(): void;
  resume(): void;
  /**
   * All that clients have sent from now on, one buffer per connection; the connections that are
   * opened after this.
   */
  record(): Buffer[];
  stop(): Promise<void>;
}

class Pair {
  private readonly flow: { asked: Flow; answered: Flow } = { asked: 'pass', answered: 'pass' };
  /** When the last bytes of each way arrive: later ones do not come before. */
  private readonly arrivesMs = { asked: 0, answered: 0 };
  delayMs = 0;

  constructor(
    readonly client: Socket,
    readonly server: Socket,
    private readonly seen: (pair: Pair, bytes: Buffer) => void,
    ended: (pair: Pair) => void,
  ) {
    client.on('data', (bytes) => {
      this.forward('asked', server, bytes);
      this.seen(this, bytes);
    });
    server.on('data', (bytes) => this.forward('answered', client, bytes));
    for (const [socket, other, way] of [
      [client, server, 'asked'],
      [server, client, 'answered'],
    ] as const) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        ended(this);
        if (this.flow[way] === 'pass') other.destroy();
      });
    }
  }

  private forward(way: 'asked' | 'answered', to: Socket, bytes: Buffer): void {
    if (this.flow[way] === 'lose') return;
    const nowMs = performance.now();
    const atMs = Math.max(nowMs + this.delayMs, this.arrivesMs[way]);
    if (atMs <= nowMs) return void to.write(bytes);
    // Above the resolution of timers: two of the same millisecond would be in no order.
    this.arrivesMs[way] = Math.ceil(atMs) + 1;
    setTimeout(() => void (this.flow[way] !== 'lose' && to.write(bytes)), this.arrivesMs[way] - nowMs);
  }

  hold(): void {
    this.client.pause();
    this.server.pause();
  }
  release(): void {
    this.client.resume();
    this.server.resume();
  }
  cut(which: 'both' | 'answers'): void {
    this.flow.answered = 'lose';
    if (which === 'both') this.flow.asked = 'lose';
    this.release();
  }
  reset(): void {
    this.client.resetAndDestroy();
    this.server.resetAndDestroy();
  }
}

export const startProxy = async (host: string, port: number): Promise<Proxy> => {
  const pairs = new Set<Pair>();
  let mode: 'pass' | 'stall' | 'refuse' = 'pass';
  let trap: { text: string; which: 'both' | 'answers' } | null = null;
  let opened = 0;
  let delayMs = 0;
  let recorded: { pair: Pair; at: number }[] | null = null;
  let sent: Buffer[] = [];
  const seen = (pair: Pair, bytes: Buffer): void => {
    const of = recorded?.find((one) => one.pair === pair);
    if (of !== undefined) sent[of.at] = Buffer.concat([sent[of.at]!, bytes]);
    if (trap === null || !bytes.includes(trap.text)) return;
    pair.cut(trap.which);
    trap = null;
  };
  const server = createServer((client) => {
    if (mode === 'refuse') return void client.resetAndDestroy();
    opened++;
    const pair = new Pair(client, connect(port, host), seen, (one) => {
      if (one.client.destroyed && one.server.destroyed) pairs.delete(one);
    });
    pair.delayMs = delayMs;
    pairs.add(pair);
    if (recorded !== null) recorded.push({ pair, at: sent.push(Buffer.alloc(0)) - 1 });
    if (mode === 'stall') pair.hold();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = (server.address() as AddressInfo).port;
  const all = (work: (pair: Pair) => void): void => [...pairs].forEach(work);
  return {
    port: own,
    through: (url) => {
      const changed = new URL(url);
      changed.hostname = '127.0.0.1';
      changed.port = String(own);
      return changed.href;
    },
    opened: () => opened,
    open: () => [...pairs].filter(({ client }) => !client.destroyed).length,
    stall: () => {
      mode = 'stall';
      all((pair) => pair.hold());
    },
    cut: (which = 'both') => all((pair) => pair.cut(which)),
    delay: (ms) => {
      delayMs = ms;
      all((pair) => (pair.delayMs = ms));
    },
    cutAt: (text, which = 'both') => (trap = { text, which }),
    reset: () => all((pair) => pair.reset()),
    refuse: () => (mode = 'refuse'),
    resume: () => {
      mode = 'pass';
      all((pair) => pair.release());
    },
    record: () => {
      recorded = [];
      return (sent = []);
    },
    stop: async () => {
      all((pair) => pair.reset());
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** To the server that a URL names. */
export const startProxyOf = (url: string): Promise<Proxy> => {
  const { hostname, port } = new URL(url);
  return startProxy(hostname, Number(port));
};
