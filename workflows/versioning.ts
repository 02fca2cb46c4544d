import type { WorkflowDefinitionOptionsOrGetter } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Versioning for workflows that run once per installation, or wait for days: the workers of the
 * version that began the run may be gone by then, so it continues on the current version. A server
 * refuses a versioning behaviour from a worker that is not versioned. Any error that their code
 * throws ends the run, and so does a change of the code without `patched`: everything they work on
 * is in the store, so a new run, started by the sweeper, is better than a workflow task that is
 * repeated forever.
 */
export const upgradedWhileWaiting: WorkflowDefinitionOptionsOrGetter = () => {
  const version = workflowInfo().currentDeploymentVersion;
  const failureExceptionTypes = [Error];
  return version === undefined || version.deploymentName === ''
    ? { failureExceptionTypes }
    : { failureExceptionTypes, versioningBehavior: 'AUTO_UPGRADE' };
};
