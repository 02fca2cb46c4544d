import { setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import * as product from '../../workflows';
import { lookSignal } from '../../workflows/definitions';

/**
 * Every workflow of the product, by its type, as another version might have it. In one bundle, told
 * apart by the version's name, which stands in the code as `"__VERSION__"`: `incompatible` begins
 * with a timer that no history of the product has, `forgetful` with one that it leaves out when it
 * replays, so that it cannot replay what it has written itself; `broken` throws; `mute` looks once
 * and hears no wake after that; `strict` does not have the product's last resort for payloads that
 * nobody can read, so that one fails every workflow task of its run.
 */
const version: string = '__VERSION__';

export default async (...args: unknown[]): Promise<unknown> => {
  if (version === 'broken') throw new Error('a bug');
  if (version === 'incompatible') await sleep(1);
  if (version === 'forgetful' && !workflowInfo().unsafe.isReplaying) await sleep(1);
  const types = product as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const run = types[workflowInfo().workflowType]!(...args);
  // The product has its own by now, and with it the signal that came with the start.
  if (version === 'mute') setHandler(lookSignal, () => undefined);
  return run;
};
