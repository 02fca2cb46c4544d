import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';

/** Time between two looks, and the most that one may take. */
const WATCH_EVERY_MS = 5_000;
/** The same until the first has told which namespace it is. */
const UNKNOWN_EVERY_MS = 1_000;

export interface NamespaceWatchOptions {
  connection: NativeConnection;
  namespace: string;
  /** Called when the namespace is another one than before, under the same name. */
  onReplaced: () => Promise<void>;
  log: Pick<Logger, 'warn' | 'error'>;
}

/**
 * Looks whether the namespace is still the one that this process polls. One that was deleted and
 * made again, or that a server with an empty store has made, has another id: the server keeps the
 * polls of the old one until they time out, a minute later, and gives them no work.
 */
export class NamespaceWatch {
  private timer: NodeJS.Timeout | undefined;
  private id: string | null = null;
  private stopped = false;

  constructor(private readonly options: NamespaceWatchOptions) {}

  start(): void {
    void this.look().finally(() => {
      const nextMs = this.id === null ? UNKNOWN_EVERY_MS : WATCH_EVERY_MS;
      if (!this.stopped) this.timer = setTimeout(() => this.start(), nextMs);
    });
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async look(): Promise<void> {
    const { namespace, onReplaced, log } = this.options;
    const id = await this.ask().catch(() => null); // it is away, or not there at present
    if (id === null) return;
    const before = this.id;
    this.id = id;
    if (before === null || before === id || this.stopped) return;
    log.warn({ namespace }, 'the namespace was replaced by another one of its name: its tasks are polled anew');
    await onReplaced().catch((err: unknown) => log.error({ err }, 'the workers could not be begun anew'));
  }

  private async ask(): Promise<string | null> {
    const { connection, namespace } = this.options;
    const { namespaceInfo } = await connection.withDeadline(Date.now() + WATCH_EVERY_MS, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return namespaceInfo?.id ?? null;
  }
}
