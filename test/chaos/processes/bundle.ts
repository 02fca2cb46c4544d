import { writeFileSync } from 'node:fs';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { bundleSource } from '../../../workers/temporal/bundle';

/** The product's workflows with the chaos interceptors, built once for all workers of a run. */
export const bundleTo = async (file: string): Promise<string> => {
  const source = bundleSource();
  const { code } = await bundleWorkflowCode({
    ...source,
    workflowInterceptorModules: [...source.workflowInterceptorModules, require.resolve('./workflowInterceptors')],
    logger: new DefaultLogger('ERROR'),
  });
  writeFileSync(file, code);
  return file;
};
