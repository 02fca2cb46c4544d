import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Break, HttpWire, JudgedItem, Reading, Shape, WireAnswer, WireItem, WireRequest } from './trial';
import type { Turn } from './turn';

/** What the fake does with a call, with the verdict on each item. */
export interface JudgedCall extends Turn {
  readonly judged: readonly JudgedItem[];
}

/** The fake downstream, as its server sees it. */
interface Fake {
  decide(items: readonly WireItem[], bytes: number | undefined): JudgedCall;
  readonly unreadable: string[];
}

/** Creates the server of a fake downstream that speaks HTTP. */
export function httpServer(wire: HttpWire, fake: Fake): Server {
  const speech = new HttpSpeech(wire, fake);
  return createServer((request, response) => {
    speech.take(request, response).catch((error: unknown) => {
      fake.unreadable.push(String(error));
      response.destroy();
    });
  });
}

class HttpSpeech {
  private brokenResults: Break | undefined;

  constructor(
    private readonly wire: HttpWire,
    private readonly fake: Fake,
  ) {}

  async take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
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
    const { judged, breaks, breaksResults, refuse, headers, delayMs, shape } = this.fake.decide(items, bytes);
    if (breaks?.applied === false) return spoil(response, breaks.how, undefined);
    if (refuse !== undefined) {
      const refused = this.wire.refuse(refuse);
      return send(response, { ...refused, headers: { ...refused.headers, ...headers } });
    }
    const answer = this.wire.answer(shaped(judged, shape), request);
    if (delayMs !== undefined) await sleep(delayMs, undefined, { ref: false });
    if (breaks !== undefined) return spoil(response, breaks.how, answer);
    if (breaksResults !== undefined && this.wire.isAsynchronous !== true) return spoil(response, breaksResults, answer);
    this.brokenResults = breaksResults;
    send(response, answer);
  }
}

const FOREIGN: WireItem = { mark: 'mark-999999-end' };

function shaped(items: readonly JudgedItem[], shape: Shape | undefined): readonly JudgedItem[] {
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

const PAGE: WireAnswer = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: '<html><body>Welcome</body></html>',
};
const FAILURE: WireAnswer = { status: 500, headers: { 'content-type': 'text/plain' }, body: 'Internal Server Error' };
const NOTHING: WireAnswer = { status: 200, body: '' };

function spoil(response: ServerResponse, how: Break, answer: WireAnswer = PAGE): void {
  const { socket } = response;
  switch (how) {
    case 'reset':
      socket?.resetAndDestroy();
      return;
    case 'closed':
      socket?.end();
      return;
    case 'error':
      return send(response, FAILURE);
    case 'page':
      return send(response, PAGE);
    case 'empty':
      return send(response, NOTHING);
    case 'cut':
    case 'stalled': {
      const { status, headers, body } = answer;
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) + 1 });
      response.write(body.slice(0, Math.ceil(body.length / 2)), () => {
        if (how === 'cut') socket?.resetAndDestroy();
      });
    }
  }
}
