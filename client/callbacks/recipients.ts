import { RECIPIENT_MS, registerRecipient } from '../../postgres/callbacks/recipient';
import type { Pool } from '../../postgres/pool';
import type { Callback, CheckedTask } from '../tasks/checkTasks';

/** Bounds the memory, with an address per task. */
const MOST_KEPT = 10_000;

/** Knows the recipients of callbacks that were registered lately. */
export class Recipients {
  private readonly known = new Map<string, { id: number; until: number }>();

  constructor(private readonly mostKept = MOST_KEPT) {}

  /** Returns the recipient of each task; null: it has no callback. */
  async idsOf(registry: Pool, tasks: readonly Pick<CheckedTask, 'callback'>[]): Promise<(number | null)[]> {
    const ids: (number | null)[] = [];
    for (const { callback } of tasks) ids.push(callback === null ? null : await this.idOf(registry, callback));
    return ids;
  }

  private async idOf(registry: Pool, callback: Callback): Promise<number> {
    const key = JSON.stringify(callback);
    const known = this.known.get(key);
    if (known !== undefined && performance.now() < known.until) return known.id;
    const until = performance.now() + RECIPIENT_MS;
    const id = await registerRecipient(registry, 'url' in callback ? 'webhook' : 'workflow', callback);
    if (this.known.size >= this.mostKept) this.known.clear();
    this.known.set(key, { id, until });
    return id;
  }
}
