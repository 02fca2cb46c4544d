import type { Arrivals } from '../../arrive';
import { arrive } from '../../arrive';
import { FloorJobs } from '../../floor/floorJobs';
import type { Job } from '../../floor/floorJobs';
import type { ItemAnswer } from '../../rig/callDownstream';
import { callDownstream } from '../../rig/callDownstream';
import { serve } from '../../rig/child';
import type { BenchTask } from '../../tasks';
import { targetKey } from '../../tasks';

/** A process of a peer: the one that submits, or the one that works; both are this program. */

export interface PeerRun {
  run: string;
  targets: number;
  maxItems: number;
  port: number;
}

/** What a peer does its own way. */
export interface Peer {
  /** Opens its store, and empties it if it is `fresh`; `targets`: most of a run. */
  open(url: string, targets: readonly string[], fresh: boolean): Promise<void>;
  submit(tasks: readonly BenchTask[]): Promise<unknown>;
  /** Works until `jobs` has no more. */
  work(jobs: FloorJobs, call: Call, run: PeerRun): Promise<unknown>;
  /** Returns how many tasks have ended, by its own store. */
  countEnded(): Promise<number>;
  close(): Promise<void>;
}
export type Call = (target: string, tasks: readonly Item[]) => Promise<ItemAnswer[]>;
export type Item = Pick<BenchTask, 'id' | 'payload'>;
export type { Job };

export const servePeer = (peer: Peer): void => {
  let jobs: FloorJobs;
  let finished: Promise<unknown> = Promise.resolve();
  serve(
    {
      open: ({ url, targets, fresh }: { url: string; targets: string[]; fresh: boolean }) =>
        peer.open(url, targets, fresh),
      submit: (arrivals: Arrivals) => arrive(arrivals, (tasks) => peer.submit(tasks)),
      start: (run: PeerRun) => {
        const keys = Array.from({ length: run.targets }, (_, i) => targetKey(run.run, i));
        jobs = new FloorJobs(keys, run.maxItems);
        finished = peer.work(jobs, (target, tasks) => callDownstream(run.port, target, tasks), run);
        finished.catch(() => undefined); // told by `finish`
      },
      progress: ({ tasks, ended }: { tasks: number; ended: boolean }) => jobs.progress(tasks, ended),
      countEnded: () => peer.countEnded(),
      finish: () => finished,
    },
    () => peer.close(),
  );
};
