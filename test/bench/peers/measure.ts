import type { BenchCase } from '../cases';
import type { Progress } from '../arrive';
import { startChild } from '../rig/child';
import type { Child } from '../rig/child';
import type { DownstreamReport } from '../rig/downstream';
import { targetKey } from '../tasks';

/** A peer: a process that submits, one that works, and its store, for as long as a case lasts. */
export interface PeerSide {
  readonly name: string;
  measure(run: string): Promise<Measured>;
  stop(): Promise<void>;
}
export interface Measured {
  seconds: number;
  calls: number;
}

interface Opening {
  name: string;
  script: string;
  url: string;
  runs: readonly string[];
  benchCase: BenchCase;
  downstream: Child;
  downstreamPort: number;
}

const POLL_MS = 20;
const RUN_LIMIT_MS = 300_000;

export const openPeer = async (opening: Opening): Promise<PeerSide> => {
  const { name, script, url, runs, benchCase, downstream, downstreamPort } = opening;
  const { tasks, targets, maxItems } = benchCase;
  const keys = runs.flatMap((run) => Array.from({ length: targets }, (_, i) => targetKey(run, i)));
  const worker = startChild(script);
  const client = startChild(script, [], (progress: Progress) =>
    worker.tell('progress', { tasks: progress.tasks, ended: false }),
  );
  await client.ask('open', { url, targets: keys, fresh: true });
  await worker.ask('open', { url, targets: keys, fresh: false });
  return {
    name,
    measure: async (run) => {
      await downstream.ask('reset', false);
      const before = await worker.ask<number>('countEnded');
      await worker.ask('start', { run, targets, maxItems, port: downstreamPort });
      const startedAt = performance.now();
      await client.ask('submit', { run, tasks, targets });
      worker.tell('progress', { tasks, ended: true });
      while ((await worker.ask<number>('countEnded')) - before < tasks) {
        if (performance.now() - startedAt > RUN_LIMIT_MS) throw new Error(`bench: ${name} has not ended ${run}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      const seconds = (performance.now() - startedAt) / 1_000;
      await worker.ask('finish');
      const { items, repeated, calls } = await downstream.ask<DownstreamReport>('report');
      if (items !== tasks || repeated !== 0)
        throw new Error(`bench: ${name}: expected each of ${tasks} tasks sent once, got ${items}, ${repeated} again`);
      return { seconds, calls };
    },
    stop: async () => {
      await Promise.all([worker.stop(), client.stop()]);
    },
  };
};
