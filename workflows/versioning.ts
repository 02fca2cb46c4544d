import type { WorkflowDefinitionOptionsOrGetter } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Versioning for workflows that run once per installation, or wait for days: the workers of the
 * version that began the run may be gone by then, so it goes on with the current one. A server
 * refuses a versioning behaviour from a worker that is not versioned.
 *
 * Any error that their code throws ends the run, and so does a change of the code without
 * `patched`: all that they work on is in the store, so a new run by the sweeper does better than a
 * workflow task that is repeated without end.
 */
export const upgradedWhileWaiting: WorkflowDefinitionOptionsOrGetter = () => {
  const version = workflowInfo().currentDeploymentVersion;
  const failureExceptionTypes = [Error];
  return version === undefined || version.deploymentName === ''
    ? { failureExceptionTypes }
    : { failureExceptionTypes, versioningBehavior: 'AUTO_UPGRADE' };
};
