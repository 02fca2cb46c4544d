import { sleep, workflowInfo } from '@temporalio/workflow';
import * as product from '../../workflows';

/**
 * Every workflow of the product, by its type, as another version might have it. In one bundle, told
 * apart by the version's name, which stands in the code as `"__VERSION__"`: `incompatible` begins
 * with a timer that no history of the product has, `broken` throws, `strict` does not have the
 * product's last resort for payloads that nobody can read, so that one fails every workflow task of
 * its run.
 */
const version: string = '__VERSION__';

export default async (...args: unknown[]): Promise<unknown> => {
  if (version === 'broken') throw new Error('a bug');
  if (version === 'incompatible') await sleep(1);
  const types = product as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  return types[workflowInfo().workflowType]!(...args);
};
