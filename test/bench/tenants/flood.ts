import { setTimeout as sleep } from 'node:timers/promises';
import { runAside } from './aside';
import { Wire } from './wire';

/** The process of callers who submit as much as they can. */

export interface Flooding {
  port: number;
  handler: string;
  /** Different ones in each run: no id is used twice. */
  name: string;
  callers: readonly { tenant: string; token: string; targets: readonly string[] }[];
  /** Connections of each caller, each with one request at a time. */
  connections: number;
  tasksPerCall: number;
  /** Targets never seen before, in place of those of the callers. */
  randomTargets?: boolean;
}
export interface Flooded {
  /** Tasks that were accepted, by tenant. */
  accepted: Record<string, number>;
  /** Calls that were not, by status; 0: no answer. */
  refused: Record<string, number>;
}

/** After a refusal: callers who ignore Retry-After, but do not merely turn in circles. */
const AGAIN_MS = 20;

const run = async (flooding: Flooding, isOver: () => boolean): Promise<Flooded> => {
  const flooded: Flooded = { accepted: {}, refused: {} };
  const { port, handler, name, connections, tasksPerCall } = flooding;
  let no = 0;
  const flood = async ({ tenant, token, targets }: Flooding['callers'][number]): Promise<void> => {
    const wire = new Wire(port);
    while (!isOver()) {
      const call = no++;
      const parts: string[] = [];
      for (let i = 0; i < tasksPerCall; i++) {
        const target = flooding.randomTargets ? `${name}-${call}-${i}` : targets[(call + i) % targets.length]!;
        parts.push(`{"id":"${tenant}/${name}-${call}-${i}","payload":{"to":"${target}"}}`);
      }
      const { status } = await wire.send(`POST /v1/handlers/${handler}/tasks`, token, `{"tasks":[${parts.join(',')}]}`);
      if (status === 200) flooded.accepted[tenant] = (flooded.accepted[tenant] ?? 0) + tasksPerCall;
      else {
        flooded.refused[status] = (flooded.refused[status] ?? 0) + 1;
        await sleep(AGAIN_MS);
      }
    }
    wire.close();
  };
  await Promise.all(flooding.callers.flatMap((caller) => Array.from({ length: connections }, () => flood(caller))));
  return flooded;
};

if (require.main === module) runAside(run);
