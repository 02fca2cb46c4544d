import type { Client } from '@temporalio/client';

/** Knows the current build of each deployment of workers, as asked once per round of looks. */
export class CurrentBuilds {
  private readonly known = new Map<string, Promise<string>>();

  /** Returns its build id; empty: runs go to workers without versioning. */
  of({ workflowService, options: { namespace } }: Client, deploymentName: string): Promise<string> {
    const known = this.known.get(deploymentName);
    if (known !== undefined) return known;
    const asked = workflowService
      .describeWorkerDeployment({ namespace, deploymentName })
      .then(({ workerDeploymentInfo }) => workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? '');
    this.known.set(deploymentName, asked);
    return asked;
  }
}
