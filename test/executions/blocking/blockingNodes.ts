import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Child } from '../../chaos/processes/child';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { BlockingSettings } from './blockingNode';
import type { Fleet } from '../helpers';

const SCRIPT = path.join('..', '..', 'dist', 'test', 'executions', 'blocking', 'blockingNode.js');

export interface BlockingNode {
  child: Child;
  /** What it ran, line by line. */
  ran: () => string[];
}

/** Nodes in processes of their own, whose function `block` blocks them. */
export class BlockingNodes {
  private readonly folder = mkdtempSync(path.join(tmpdir(), 'muster-blocked-'));
  private readonly children: Child[] = [];
  private started = 0;

  /** Resolves when it answers roll calls. */
  async start(fleet: Fleet, times: Pick<BlockingSettings, 'leaseMs' | 'timeoutMs'>): Promise<BlockingNode> {
    const runs = path.join(this.folder, `runs-${++this.started}`);
    const settings: BlockingSettings = {
      databaseUrl: fleet.database.url,
      address: temporalAddress(),
      prefix: fleet.prefix,
      runs,
      ...times,
    };
    const log = path.join(this.folder, 'log');
    let ready = false;
    const child = new Child(SCRIPT, [JSON.stringify(settings)], log, () => (ready = true));
    this.children.push(child);
    await eventually(() => ready && fleet.nodeIds().then((ids) => ids.some((id) => id.includes(`-${child.pid}-`))), {
      timeoutMs: 40_000,
      what: () => `a node: ${readFileSync(log, 'utf8')}`,
    });
    return {
      child,
      ran: () => {
        try {
          return readFileSync(runs, 'utf8').trim().split('\n');
        } catch {
          return [];
        }
      },
    };
  }

  async kill(): Promise<void> {
    for (const child of this.children.splice(0)) {
      child.signal('SIGCONT');
      child.signal('SIGKILL');
      await child.exited;
    }
  }

  clear(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
