import { join } from 'node:path';
import type { Pool } from '../../postgres/pool';
import type { ExampleProcess } from '../support/child';
import { startChild } from '../support/child';
import type { Cleanup } from '../support/cleanup';

export type MemberState = 'up' | 'drained' | 'blocked' | 'stopped' | 'killed' | 'gone';

export interface Member {
  label: string;
  /** Its id as a node of Muster. */
  id: string;
  process: ExampleProcess;
  state: MemberState;
}

/** The processes of the nodes. */
export class Crew {
  readonly all: Member[] = [];

  constructor(
    private readonly options: {
      pool: Pool;
      args: readonly string[];
      env: Record<string, string>;
      cleanup: Cleanup;
    },
  ) {}

  /** Those that are to hold partitions. */
  get members(): Member[] {
    return this.all.filter(({ state }) => state === 'up' || state === 'blocked');
  }
  labelOf(id: string): string {
    return this.all.find((one) => one.id === id)?.label ?? id;
  }
  /** Dead or stopped: it serves nothing, whatever its leases say. */
  isAway = (id: string): boolean => {
    const state = this.all.find((one) => one.id === id)?.state;
    return state === 'killed' || state === 'stopped' || state === 'gone';
  };

  /** A process more; resolves when it polls and has said so in the store. */
  async join(): Promise<Member> {
    const { args, env, cleanup } = this.options;
    const label = `n${this.all.length + 1}`;
    const place = this.all.push({ label, id: '', process: undefined as never, state: 'gone' }) - 1;
    const process = await startChild(join(__dirname, 'node.js'), [...args, '--label', label], {
      env,
      readyMs: 120_000,
    });
    cleanup.add(label, async () => {
      this.signal(process, 'SIGCONT');
      await process.stop();
    });
    const member: Member = { label, id: await this.idOf(process), process, state: 'up' };
    this.all[place] = member;
    return member;
  }

  async kill(member: Member): Promise<void> {
    member.state = 'killed';
    await member.process.kill();
  }
  async leave(member: Member): Promise<void> {
    await member.process.stop();
    member.state = 'gone';
  }
  stop(member: Member): void {
    member.state = 'stopped';
    this.signal(member.process, 'SIGSTOP');
  }
  wake(member: Member): void {
    member.state = 'up';
    this.signal(member.process, 'SIGCONT');
  }
  block(member: Member): void {
    member.state = 'blocked';
    this.signal(member.process, 'SIGUSR2');
  }

  private signal({ pid }: ExampleProcess, signal: NodeJS.Signals): void {
    try {
      process.kill(pid, signal);
    } catch {
      // it is gone
    }
  }

  private async idOf({ pid }: ExampleProcess): Promise<string> {
    for (;;) {
      const { rows } = await this.options.pool.query<{ id: string }>('select id from node where id like $1', [
        `%-${pid}-________`,
      ]);
      if (rows[0] !== undefined) return rows[0].id;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
