/**
 * As much of Postgres' protocol as a client needs that sends one statement with one parameter:
 * postgresql.org/docs/current/protocol-message-formats.html
 */

/** A message of a client. */
export interface PostgresMessage {
  /** Its type byte, or `startup`. */
  readonly type: string;
  /** Of a Bind (`B`): its first parameter, as text. */
  readonly parameter?: string;
}

export const text = (value: string): Buffer => Buffer.from(`${value}\0`);

/** Returns a message of a server. */
export function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** Takes the bytes of a connection apart into messages. */
export class PostgresReader {
  private rest: Buffer = Buffer.alloc(0);
  private isStarted = false;

  /** Yields the messages that are whole now. */
  *read(chunk: Buffer): Generator<PostgresMessage> {
    this.rest = Buffer.concat([this.rest, chunk]);
    for (;;) {
      // The first message has no type.
      const head = this.isStarted ? 1 : 0;
      if (this.rest.length < head + 4) return;
      const end = head + this.rest.readInt32BE(head);
      if (this.rest.length < end) return;
      const body = this.rest.subarray(head + 4, end);
      const type = this.isStarted ? this.rest.toString('latin1', 0, 1) : 'startup';
      this.isStarted = true;
      this.rest = this.rest.subarray(end);
      yield type === 'B' ? { type, parameter: firstParameter(body) } : { type };
    }
  }
}

/** Two names, the formats, the number of parameters, then each with its length. */
function firstParameter(body: Buffer): string {
  let at = body.indexOf(0) + 1;
  at = body.indexOf(0, at) + 1;
  at += 2 + 2 * body.readInt16BE(at);
  const length = body.readInt32BE(at + 2);
  return body.toString('utf8', at + 6, at + 6 + length);
}
