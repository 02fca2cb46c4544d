import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ledger } from './ledger';
import type { JudgedItem, Reading, Wire, WireAnswer, WireItem, WireRequest } from './trial';
import type { Break, Script, Turn } from './turn';

/** One call that the fake has seen. */
export interface SeenCall {
  readonly items: number;
  readonly bytes: number | undefined;
}

/**
 * A downstream on loopback that speaks one wire format and does with each call what the script
 * says.
 */
export class FakeDownstream {
  readonly ledger = new Ledger();
  readonly calls: SeenCall[] = [];
  /** What the fake could not read: a defect of the handler, or of its wire. */
  readonly unreadable: string[] = [];
  private brokenResults: Break | undefined;
  private readonly server: Server;

  constructor(
    private readonly wire: Wire,
    private readonly script: Script,
  ) {
    this.server = createServer((request, response) => {
      this.take(request, response).catch((error: unknown) => {
        this.unreadable.push(String(error));
        response.destroy();
      });
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
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request: WireRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: Buffer.concat(chunks),
    };
    const reading = this.wire.read(request);
    if (reading.kind === 'call') return this.call(reading, request, response);
    if (reading.kind === 'results' && this.brokenResults !== undefined) {
      const how = this.brokenResults;
      this.brokenResults = undefined;
      return spoil(response, how, reading.answer);
    }
    send(response, reading.answer);
  }

  private async call(
    { items, bytes }: Extract<Reading, { kind: 'call' }>,
    request: WireRequest,
    response: ServerResponse,
  ): Promise<void> {
    const turn = this.script(
      this.calls.length,
      items.map(({ mark }) => mark),
      this.wire,
    );
    this.calls.push({ items: items.length, bytes });
    const { breaks, breaksResults, refuse, headers, delayMs, shape } = turn;
    if (breaks?.applied === false) return spoil(response, breaks.how, undefined);
    if (refuse !== undefined) {
      const refused = this.wire.refuse(refuse);
      return send(response, { ...refused, headers: { ...refused.headers, ...headers } });
    }
    const judged = items.map((item, place): JudgedItem => ({
      ...item,
      place,
      verdict: turn.items?.(item.mark) ?? 'ok',
    }));
    for (const item of judged) if (item.verdict === 'ok' || item.verdict === 'omitted') this.ledger.apply(item);
    if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs).unref());
    const answer = this.wire.answer(shaped(judged, shape), request);
    if (breaks !== undefined) return spoil(response, breaks.how, answer);
    if (breaksResults !== undefined && this.wire.isAsynchronous !== true) return spoil(response, breaksResults, answer);
    this.brokenResults = breaksResults;
    send(response, answer);
  }
}

const FOREIGN: WireItem = { mark: 'mark-999999-end' };

function shaped(items: readonly JudgedItem[], shape: Turn['shape']): readonly JudgedItem[] {
  switch (shape) {
    case undefined:
      return items;
    case 'reversed':
      return items.toReversed();
    case 'twice':
      return [...items, ...items.slice(0, 1)];
    case 'foreign':
      return [...items, { ...FOREIGN, verdict: 'ok', place: 999_999 }];
  }
}

function send(response: ServerResponse, { status, headers, body }: WireAnswer): void {
  if (response.destroyed) return;
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function spoil(response: ServerResponse, how: Break, answer: WireAnswer | undefined): void {
  const { socket } = response;
  switch (how) {
    case 'reset':
      socket?.resetAndDestroy();
      return;
    case 'closed':
      socket?.end();
      return;
    case 'error':
      send(response, { status: 500, headers: { 'content-type': 'text/plain' }, body: 'Internal Server Error' });
      return;
    case 'page':
      send(response, {
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: '<html><body>Welcome</body></html>',
      });
      return;
    case 'empty':
      send(response, { status: 200, body: '' });
      return;
    case 'cut':
    case 'stalled': {
      const { status, headers, body } = answer ?? { status: 200, headers: {}, body: '{"half": "of an answer"}' };
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) + 1 });
      const half = body.slice(0, Math.ceil(body.length / 2));
      response.write(half, () => {
        if (how === 'cut') socket?.resetAndDestroy();
      });
    }
  }
}
