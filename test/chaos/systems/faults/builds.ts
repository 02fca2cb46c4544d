import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXPAND, makeBuild } from '../../../cli/builds';
import type { Build } from '../../../cli/builds';
import { startCli } from '../../../cli/process';
import type { World } from '../../../liveness/world';
import type { Fault } from './fault';

/** Two releases side by side, on the tables of the newer one. */

/** The release after this one, with a migration more; its tables are there from then on. */
const upgrade = async (world: World): Promise<Build> => {
  const build = makeBuild({ '900001_made_up': EXPAND }, process.cwd());
  world.cleanup.add('the newer build', async () => rmSync(build.folder, { recursive: true }));
  const migrate = startCli(['migrate'], {
    cwd: world.runDir,
    bin: build.bin,
    env: { MUSTER_DATABASE_URL: world.databaseUrl },
  });
  const how = await migrate.exit;
  if (how !== 0) throw new Error(`migrate: ${how}\n${migrate.stderr()}`);
  return build;
};

/** Places change from one release to the other, and some stay there. */
export const buildsMixed: Fault = async ({ world, random, forMs, times }) => {
  const { crew, binOf } = world;
  world.newer ??= await upgrade(world);
  const { bin } = world.newer;
  for (let i = 0; i < times; i++) {
    const place = Math.floor(random() * crew.size);
    if (binOf.has(place)) binOf.delete(place);
    else binOf.set(place, bin);
    await crew.kill(place);
    await sleep(random() * forMs);
  }
  return times;
};
