import type { Pool } from '../../../postgres/pool';
import { Death } from './death';

/**
 * Rings that really failed: on a busy machine a lock is waited for too long, or a session is not
 * had in time. They are the net's affair, as a death before a ring is; of which targets they were,
 * the failure does not say.
 */
export class FailedRings {
  private readonly counts = new Map<string, number>();

  note(error: unknown): void {
    if (error instanceof Death) return; // noted as it was struck, by target
    const { code } = error as { code?: unknown };
    const what = `ring failed: ${String(code ?? (error as Error).message)}`;
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /**
   * Returns how many there were since the last call, by what failed; then every target may be one
   * that nobody rang.
   */
  async forgive(pool: Pool, unrung: Set<number>): Promise<ReadonlyMap<string, number>> {
    const failed = new Map(this.counts);
    this.counts.clear();
    if (failed.size === 0) return failed;
    const { rows } = await pool.query<{ id: number }>('select id from target');
    for (const { id } of rows) unrung.add(id);
    return failed;
  }
}
