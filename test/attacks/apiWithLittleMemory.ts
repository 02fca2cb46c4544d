import { readFileSync } from 'node:fs';
import type { ApiHome, ApiProcess } from '../api/child';

/** As in docker-compose.yml: the container's limit, and a heap that leaves room beside it. */
export const MEMORY_MB = 512;
const HEAP = { NODE_OPTIONS: '--max-old-space-size=400' };

/** A handler that refuses nothing for its size. */
const CONFIG = `
import { defineHandler } from 'temporal-muster';
export default [
  defineHandler({
    name: 'greedy',
    target: () => 'all',
    limits: { maxItems: 50, maxBytes: 67_108_864 },
    linger: { lingerMs: 3_600_000 },
    maxPayloadBytes: 67_108_864,
    submit: async () => ({ results: [] }),
  }),
];
`;

/** `muster api` with as much memory, and three callers. */
export interface SmallApi {
  api: ApiProcess;
  tokens: readonly string[];
}

export const startSmallApi = async (home: ApiHome): Promise<SmallApi> => {
  home.write('muster.config.ts', CONFIG);
  const tokens: string[] = [];
  for (const name of ['a', 'b', 'c'])
    tokens.push((await home.run(`token create --name ${name} --scope admin --json`)).json<{ token: string }>().token);
  return { api: await home.start('--port 0', HEAP), tokens };
};

/** Returns the most that a process ever had in memory, in MB; infinite: it has ended. */
export const peakMb = ({ process: { child } }: ApiProcess): number => {
  if (child.exitCode !== null || child.signalCode !== null) return Infinity;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1_024;
};
