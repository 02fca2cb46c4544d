import { WebSocket } from 'undici';

interface Reply {
  id?: number;
  result?: unknown;
  error?: { message: string };
  method?: string;
  params?: unknown;
  sessionId?: string;
}
type Hear = (params: never) => void;

/** One page of the browser. */
export interface Tab {
  send<T = unknown>(method: string, params?: object): Promise<T>;
  on(event: string, hear: Hear): void;
  close(): Promise<void>;
}

/** Speaks Chromium's DevTools protocol over a WebSocket. */
export class DevTools {
  private last = 0;
  private readonly waiting = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
  private readonly heard = new Map<string, Hear>();

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => this.hear(JSON.parse(String(data)) as Reply));
    socket.addEventListener('close', () => {
      for (const { reject } of this.waiting.values()) reject(new Error('Cannot go on: the browser has closed.'));
    });
  }

  static async connect(url: string): Promise<DevTools> {
    const socket = new WebSocket(url);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve());
      socket.addEventListener('error', () => reject(new Error(`Cannot reach the browser at ${url}.`)));
    });
    return new DevTools(socket);
  }

  /** Opens a page, empty. */
  async open(): Promise<Tab> {
    const { targetId } = await this.send<{ targetId: string }>('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
    return {
      send: (method, params) => this.send(method, params, sessionId),
      on: (event, hear) => void this.heard.set(`${sessionId} ${event}`, hear),
      close: async () => void (await this.send('Target.closeTarget', { targetId })),
    };
  }

  close(): void {
    this.socket.close();
  }

  private send<T>(method: string, params: object = {}, sessionId?: string): Promise<T> {
    const id = ++this.last;
    this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  private hear({ id, result, error, method, params, sessionId }: Reply): void {
    if (id === undefined) return this.heard.get(`${sessionId} ${method}`)?.(params as never);
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (error === undefined) waiting?.resolve(result as never);
    else waiting?.reject(new Error(error.message));
  }
}
