import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { NodeProcess } from './serveNode';

/** A process with a node, as a test holds it. */
export interface NodeChild {
  id: string;
  /** Keeps its event loop busy for so long, and waits for the end of it. */
  block(ms: number): Promise<void>;
  /** SIGTERM, and its end. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const SCRIPT = path.join(__dirname, '..', '..', 'dist', 'test', 'nodes', 'nodeProcess.js');

const CLOCK = path.join(path.dirname(SCRIPT), 'shiftedClock.js');

/** `shiftMs`: its idea of the time is off by so much, in the thread that renews its leases, too. */
export const startNodeProcess = async (settings: NodeProcess, log: string, shiftMs = 0): Promise<NodeChild> => {
  if (!existsSync(SCRIPT)) throw new Error(`expected ${SCRIPT}: run npm run build`);
  const stderr = openSync(log, 'a');
  const child = fork(SCRIPT, [JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', stderr, 'ipc'],
    ...(shiftMs === 0
      ? {}
      : { execArgv: ['--require', CLOCK], env: { ...process.env, MUSTER_TEST_SHIFT_MS: String(shiftMs) } }),
  });
  closeSync(stderr);
  const exited = once(child, 'exit');
  let blocked: () => void = () => undefined;
  const id = await new Promise<string>((resolve, reject) => {
    let isReady: string | null = null;
    let isShifted = shiftMs === 0;
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (!line.startsWith('{')) return;
      const said = JSON.parse(line) as { ready?: true; id?: string; blocked?: number; threadShiftMs?: number };
      if (said.ready === true) isReady = said.id!;
      if (said.threadShiftMs !== undefined) isShifted = Math.abs(said.threadShiftMs - shiftMs) < 1_000;
      if (isReady !== null && isShifted) resolve(isReady);
      if (said.blocked !== undefined) blocked();
    });
    void exited.then(() => reject(new Error(`the node's process ended; see ${log}`)));
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  return {
    id,
    block: (ms) =>
      new Promise((resolve) => {
        blocked = resolve;
        child.send({ block: ms });
      }),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
};
