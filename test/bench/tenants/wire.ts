import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** What came back: 0 where the connection ended without an answer. */
export interface Reply {
  status: number;
  body: string;
}
const NO_REPLY: Reply = { status: 0, body: '' };

/** Returns a request's bytes up to its body. */
export const headOf = (route: string, token: string, bodyBytes: number): string =>
  `${route} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${bodyBytes}\r\n\r\n`;

/**
 * Sends requests over one kept connection, one after another. A plain socket, since callers and
 * servers share the processor here: a client library would cost more than what is measured.
 */
export class Wire {
  private socket: Socket | null = null;
  private got = '';
  private answer: ((reply: Reply) => void) | null = null;

  constructor(private readonly port: number) {}

  /** Resolves with the answer; never rejects. */
  send(route: string, token: string, body: Buffer | string): Promise<Reply> {
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const socket = this.socket ?? this.open();
    return new Promise((resolve) => {
      this.answer = resolve;
      socket.cork();
      socket.write(headOf(route, token, bytes));
      if (bytes > 0) socket.write(body);
      socket.uncork();
    });
  }

  close(): void {
    this.socket?.destroy();
    this.socket = null;
  }

  private open(): Socket {
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    this.socket = socket;
    this.got = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.take(text));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.socket === socket) this.socket = null;
      this.settle(NO_REPLY);
    });
    return socket;
  }

  private take(text: string): void {
    this.got += text;
    const end = this.got.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.got.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.got.length < end + 4 + length) return;
    const body = this.got.slice(end + 4, end + 4 + length);
    this.got = this.got.slice(end + 4 + length);
    if (/\r\nconnection: close/i.test(head)) this.close();
    this.settle({ status: Number(head.slice(9, 12)), body });
  }

  private settle(reply: Reply): void {
    const { answer } = this;
    this.answer = null;
    answer?.(reply);
  }
}
