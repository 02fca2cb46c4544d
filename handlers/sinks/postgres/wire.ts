import type { Socket } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Break, Decision, Refusal, ServedWire, WireItem } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import type { PostgresMessage } from './protocol';
import { message, PostgresReader, text } from './protocol';

const CODES: Readonly<Record<Refusal, string>> = {
  throttled: '53300',
  unavailable: '57P03',
  content: '23514',
  credentials: '28P01',
  absent: '42P01',
};
/** An error of Postgres ends the transaction, so that it never comes after the effect. */
const BREAKS: readonly Break[] = ['reset', 'closed', 'cut', 'stalled'];

const READY = message('Z', Buffer.from('I'));
const ADMITTED = Buffer.concat([message('R', Buffer.alloc(4)), READY]);
const errorOf = (code: string): Buffer =>
  message('E', text('SERROR'), text('VERROR'), text(`C${code}`), text('Mtold so'), Buffer.alloc(1));

/** Returns the wire of a Postgres that takes one insert at a time, as `postgresSink` makes it. */
export const postgresWire = (idColumn: string, maxItems: number, maxBytes: number): ServedWire => ({
  maxItems,
  maxBytes,
  verdicts: [],
  shapes: [],
  refusals: Object.keys(CODES) as Refusal[],
  hasHeaders: false,
  breaks: BREAKS,
  serve: (decide) =>
    createServer((socket) => {
      const session = new Session(socket, idColumn, decide);
      const reader = new PostgresReader();
      socket.on('data', (chunk) => {
        for (const one of reader.read(chunk)) session.take(one);
      });
    }),
});

class Session {
  private rows: string | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly idColumn: string,
    private readonly decide: (items: readonly WireItem[], bytes: number) => Decision,
  ) {}

  take({ type, parameter }: PostgresMessage): void {
    if (type === 'startup') this.socket.write(ADMITTED);
    else if (type === 'B') this.rows = parameter;
    else if (type === 'S') void this.execute(this.rows ?? '[]');
  }

  private async execute(rows: string): Promise<void> {
    const items = (JSON.parse(rows) as Record<string, unknown>[]).map((row) => ({
      mark: markIn(JSON.stringify(Object.entries(row).filter(([column]) => column !== this.idColumn))),
      key: String(row[this.idColumn]),
    }));
    const { refuse, breaks, delayMs } = this.decide(items, Buffer.byteLength(rows));
    if (delayMs !== undefined) await sleep(delayMs, undefined, { ref: false });
    const done = message('C', text(`INSERT 0 ${items.length}`));
    const answer = Buffer.concat([message('1'), message('2'), message('n'), done, READY]);
    if (breaks !== undefined) return this.spoil(breaks.how, answer);
    if (!this.socket.destroyed)
      this.socket.write(refuse === undefined ? answer : Buffer.concat([errorOf(CODES[refuse]), READY]));
  }

  private spoil(how: Break, answer: Buffer): void {
    if (how === 'reset') this.socket.resetAndDestroy();
    else if (how === 'closed') this.socket.end();
    else
      this.socket.write(answer.subarray(0, answer.length / 2), () => {
        if (how === 'cut') this.socket.resetAndDestroy();
      });
  }
}
