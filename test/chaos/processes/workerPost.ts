import { Post } from './post';

export interface WorkerSettings {
  index: number;
  databaseUrl: string;
  address: string;
  prefix: string;
  downstream: string;
  bundle: string;
  runDir: string;
  /** The scenario's own. */
  settings?: unknown;
}

/** This worker's orders, and its line to the harness. */
export const settings = JSON.parse(process.argv[2]!) as WorkerSettings;
export const post = new Post(settings.runDir);

/** What was done stays done; its caller does not learn of it. */
export const lose = (lost: boolean): void => {
  if (lost) throw new Error('Connection terminated unexpectedly');
};
