import type { CliProcess } from '../cli/process';
import { startCli } from '../cli/process';
import type { World } from '../cli/world';
import { createWorld } from '../cli/world';
import type { CallApi } from './world';
import { caller } from './world';

/** `muster api` as a separate process, in a user's folder. */
export interface ApiProcess {
  process: CliProcess;
  url: string;
  call: CallApi;
}

export interface ApiHome extends Omit<World, 'start'> {
  /** Default: any port, open until a token was made. */
  start(args?: string, env?: Readonly<Record<string, string>>): Promise<ApiProcess>;
}

export const createHome = async (): Promise<ApiHome> => {
  const world = await createWorld();
  return {
    ...world,
    start: async (args = '--port 0 --open', env = {}) => {
      const process = startCli(['api', '--json', ...args.split(' ')], {
        cwd: world.folder,
        env: { ...world.env, ...env },
      });
      await process.says(/"ready":true.*\n/);
      const { url } = JSON.parse(process.stdout()) as { url: string };
      return { process, url, call: caller(() => url) };
    },
  };
};
