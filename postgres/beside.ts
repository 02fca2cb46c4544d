import type { Pool } from './pool';
import { poolBeside } from './pool';

/**
 * One connection beside a pool, opened when it is first needed: for what the holder of a connection
 * of that pool waits for. In a pool of one, and in any pool whose connections all are held, it
 * would wait for itself.
 */
export class Beside {
  private opened: Pool | null = null;

  constructor(private readonly beside: Pool) {}

  pool(): Pool {
    return (this.opened ??= poolBeside(this.beside));
  }

  async close(): Promise<void> {
    await this.opened?.end();
  }
}
