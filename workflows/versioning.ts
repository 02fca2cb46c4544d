import type { WorkflowDefinitionOptionsOrGetter } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Options of workflows that run once per installation, or wait for days. The workers of the version
 * that started such a run may be gone before it ends, so the run continues on the current version.
 * (A server refuses a versioning behaviour from a worker that is not versioned.) Any error that the
 * workflow's code throws ends the run, and so does a change of the code without `patched`:
 * everything is in the store, so a new run, started by the sweeper, is better than a workflow task
 * that is repeated forever.
 */
export const upgradedWhileWaiting: WorkflowDefinitionOptionsOrGetter = () => {
  const version = workflowInfo().currentDeploymentVersion;
  const failureExceptionTypes = [Error];
  return version === undefined || version.deploymentName === ''
    ? { failureExceptionTypes }
    : { failureExceptionTypes, versioningBehavior: 'AUTO_UPGRADE' };
};
