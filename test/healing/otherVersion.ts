import { sleep, workflowInfo } from '@temporalio/workflow';
import * as product from '../../workflows';

/**
 * Every workflow of the product, by its type, as another version might have it. In one bundle, told apart by the version's name, which stands in
 * the code as `"__VERSION__"`: `incompatible` begins with a timer that no history of the product has, `broken` throws.
 */
const version: string = '__VERSION__';

export default async (...args: unknown[]): Promise<unknown> => {
  if (version === 'broken') throw new Error('a bug');
  await sleep(1);
  const types = product as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  return types[workflowInfo().workflowType]!(...args);
};
