import { SingleBar } from 'cli-progress';
import type { Surroundings } from './surroundings';

/** Shows progress on a terminal. Anywhere else nothing is written. */
export interface Progress {
  update(done: number, total?: number): void;
  stop(): void;
}

const SILENT: Progress = { update: () => undefined, stop: () => undefined };

/** Draws a bar that shows what is done (`what`), how far it is, and how long it may still take. */
export const progressBar = (stream: Surroundings['stderr'], what: string, total: number, unit: string): Progress => {
  if (stream.isTTY !== true || total <= 0) return SILENT;
  const bar = new SingleBar({
    stream,
    format: `${what} {bar} {percentage}% | {value}/{total} ${unit} | {duration_formatted}, {eta_formatted} left`,
    barCompleteChar: '=',
    barIncompleteChar: ' ',
    // The cursor is not hidden: Ctrl-C must not leave a terminal without a cursor.
    hideCursor: false,
    clearOnComplete: true,
    etaBuffer: 50,
  });
  bar.start(total, 0);
  return {
    update: (done, newTotal) => {
      if (newTotal !== undefined) bar.setTotal(newTotal);
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
};
