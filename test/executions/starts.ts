import type { WorkflowSignalWithStartInput } from '@temporalio/client';
import type { NodeOptions } from '../../workers/nodeOptions';

export interface Start {
  id: string;
  resumeAfterMs: number;
  runId: string;
}

/** Records the starts of executions that a node sends, each with the run that it started. */
export class Starts {
  readonly all: Start[] = [];
  readonly interceptors: NodeOptions['interceptors'] = {
    client: { workflow: [{ signalWithStart: (input, next) => this.note(input, next) }] },
  };

  of(id: string): Start | undefined {
    return this.all.find((one) => one.id === id);
  }

  private async note(
    input: WorkflowSignalWithStartInput,
    next: (input: WorkflowSignalWithStartInput) => Promise<string>,
  ): Promise<string> {
    const runId = await next(input);
    const [{ executionId: id, resumeAfterMs }] = input.options.args as [{ executionId: string; resumeAfterMs: number }];
    this.all.push({ id, resumeAfterMs, runId });
    return runId;
  }
}
