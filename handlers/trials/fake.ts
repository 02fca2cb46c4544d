import type { AddressInfo, Server, Socket } from 'node:net';
import type { JudgedCall } from './httpServer';
import { httpServer } from './httpServer';
import { Ledger } from './ledger';
import type { JudgedItem, Wire, WireItem } from './trial';
import type { Script } from './turn';

/** One call that the fake has seen. */
export interface SeenCall {
  readonly items: number;
  readonly bytes: number | undefined;
}

/**
 * A downstream on loopback that speaks one wire format, does with each call what the script says,
 * and keeps account of what it applied.
 */
export class FakeDownstream {
  readonly ledger = new Ledger();
  readonly calls: SeenCall[] = [];
  /** What the fake could not read: a defect of the handler, or of its wire. */
  readonly unreadable: string[] = [];
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor(
    private readonly wire: Wire,
    private readonly script: Script,
  ) {
    this.server = 'serve' in wire ? wire.serve((items, bytes) => this.decide(items, bytes)) : httpServer(wire, this);
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
      socket.on('error', () => undefined); // it was cut, by one side or the other
    });
  }

  /** Listens, and returns the address. */
  async start(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Takes a call: applies what the script has applied, and returns what to answer. */
  decide(items: readonly WireItem[], bytes: number | undefined): JudgedCall {
    const marks = items.map(({ mark }) => mark);
    const turn = this.script(this.calls.length, marks, this.wire);
    this.calls.push({ items: items.length, bytes });
    const judged = items.map((item, place): JudgedItem => ({
      ...item,
      place,
      verdict: turn.items?.(item.mark) ?? 'ok',
    }));
    const isApplied = turn.refuse === undefined && turn.breaks?.applied !== false;
    if (isApplied)
      for (const item of judged) if (item.verdict === 'ok' || item.verdict === 'omitted') this.ledger.apply(item);
    return { ...turn, judged };
  }
}
