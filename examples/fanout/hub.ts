import type { IncomingMessage, ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { readBody, sendJson } from '../support/server';
import type { Queue } from './queue';

/** What consumers and the webhook talk to: the queue over HTTP, and the tally of what they say. */
export class Hub {
  items = 0;
  acked = 0;
  readonly completed: string[] = [];
  /** Signed messages by their id: a delivery that is repeated is the same message. */
  readonly messages = new Map<string, { userKey: string | null }>();
  private heardAt = 0;

  constructor(
    private readonly queue: Queue,
    readonly secret: string,
  ) {}

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const text = (await readBody(request, 1_000_000)).toString();
      sendJson(response, 200, this.route(request, text));
    } catch (error) {
      if (!response.headersSent && !response.destroyed) sendJson(response, 500, { error: String(error) });
    }
  }

  /** No message has come for a while, and at least one has. */
  async quiet(): Promise<void> {
    const deadline = performance.now() + 30_000;
    while (performance.now() < deadline && (this.messages.size === 0 || performance.now() - this.heardAt < 1_000))
      await new Promise((resolve) => setTimeout(resolve, 50));
  }

  private route(request: IncomingMessage, text: string): object {
    switch (request.url) {
      case '/receive':
        return this.queue.receive((JSON.parse(text) as { max: number }).max, Date.now());
      case '/delete':
        this.queue.delete((JSON.parse(text) as { receipt: number }).receipt);
        return {};
      case '/acked': {
        const { items, acked, completed } = JSON.parse(text) as { items: number; acked: number; completed: string[] };
        this.items += items;
        this.acked += acked;
        this.completed.push(...completed);
        return {};
      }
      case '/hook': {
        const headers = request.headers as Record<string, string>;
        const { type, data } = new Webhook(this.secret).verify(text, headers) as {
          type: string;
          data: { userKey: string | null };
        };
        if (type === 'fanout.completed') this.messages.set(headers['webhook-id']!, data);
        this.heardAt = performance.now();
        return {};
      }
      default:
        throw new Error(`${request.url}: no such route`);
    }
  }
}
