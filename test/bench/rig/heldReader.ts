import { readFileSync } from 'node:fs';
import { eventually } from '../../helpers/eventually';

/** Looks until the least is taken: connections end a moment after their last answer. */
const LOOKS = 5;

/** Asks a process with `heldMemory.ts` how much it holds. */
export class HeldReader {
  private times = 0;

  constructor(private readonly file: string) {}

  /** For the process's environment. */
  get env(): Record<string, string> {
    return {
      BENCH_HELD_FILE: this.file,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --require ${JSON.stringify(require.resolve('./heldMemory'))}`,
    };
  }

  /** Returns the bytes that are held once nothing is left to collect. */
  async bytes(pid: number): Promise<number> {
    let least = Infinity;
    for (let i = 0; i < LOOKS; i++) least = Math.min(least, await this.look(pid));
    return least;
  }

  private async look(pid: number): Promise<number> {
    const wanted = ++this.times;
    process.kill(pid, 'SIGUSR2');
    return eventually(() => this.read(wanted), { what: 'the process to say how much it holds' });
  }

  private read(wanted: number): number | false {
    try {
      const { times, bytes } = JSON.parse(readFileSync(this.file, 'utf8')) as { times: number; bytes: number };
      return times === wanted && bytes;
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return false;
      throw error;
    }
  }
}
