import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../../client';
import { shuffled } from '../random';
import { Stream } from './stream';
import { uuidOf } from './uuid';

/** Fan-outs whose items are acked in any order, some twice; each is to end with one message. */

const EVERY_MS = 1_000;
const MOST_ITEMS = 200;
const ACKED_AT_ONCE = 20;
const TWICE = 0.2;

export interface FanoutMessage {
  type: string;
  data: { fanout: string; items: number };
}
export interface FanoutAccounts {
  /** Items by fan-out. */
  opened: ReadonlyMap<string, number>;
  /** Ids of its messages, by fan-out: one that is delivered again is the same. */
  told: ReadonlyMap<string, ReadonlySet<string>>;
  stored: readonly { id: string; state: string; items: number; open: number | null }[];
  found: readonly string[];
}

export class FanoutStream extends Stream {
  readonly opened = new Map<string, number>();
  readonly told = new Map<string, Set<string>>();
  readonly found: string[] = [];

  constructor(
    private readonly client: Client,
    private readonly url: string,
    random: () => number,
  ) {
    super(EVERY_MS, random);
  }

  /** The route of its messages. */
  readonly take = (body: unknown, headers: IncomingHttpHeaders): object => {
    const { type, data } = body as FanoutMessage;
    const id = data.fanout;
    if (type !== 'fanout.completed') this.found.push(`fan-out ${id} ended by ${type}`);
    if (data.items !== this.opened.get(id))
      this.found.push(`the message of fan-out ${id} spoke of ${data.items} items`);
    const before = this.told.get(id);
    const message = headers['webhook-id'] as string;
    if (before === undefined) this.told.set(id, new Set([message]));
    else before.add(message);
    return {};
  };

  protected async piece(): Promise<void> {
    const { client, random } = this;
    const id = uuidOf(random);
    const n = 1 + Math.floor(random() * MOST_ITEMS);
    this.opened.set(id, n);
    await this.untilAccepted(() => client.fanouts.open({ id, segmentSize: 64, notify: { url: this.url } }));
    const items = await this.untilAccepted(() => client.items.add(id, n, { key: 'all' }));
    await this.untilAccepted(() => client.fanouts.seal(id));
    const mixed = shuffled([...items], random);
    for (let i = 0; i < mixed.length; i += ACKED_AT_ONCE) {
      const some = mixed.slice(i, i + ACKED_AT_ONCE);
      for (let times = random() < TWICE ? 2 : 1; times > 0; times--)
        await this.untilAccepted(() => client.items.ack(some));
      await sleep(random() * 50);
    }
  }

  get isTold(): boolean {
    return [...this.opened.keys()].every((id) => this.told.has(id));
  }
}

/** What does not hold, in words. Pure. */
export const judgeFanouts = ({ opened, told, stored, found }: FanoutAccounts): string[] => {
  const findings = [...found];
  const byId = new Map(stored.map((one) => [one.id, one]));
  for (const [id, items] of opened) {
    const one = byId.get(id);
    if (one === undefined) findings.push(`lost: fan-out ${id} is not in the store`);
    else if (one.state !== 'complete' || one.items !== items || (one.open ?? 0) !== 0)
      findings.push(`fan-out ${id} of ${items} items is ${one.state}, with ${one.items} items, ${one.open} open`);
    const messages = told.get(id)?.size ?? 0;
    if (messages !== 1) findings.push(`fan-out ${id} had ${messages} messages, expected one`);
  }
  return findings;
};
