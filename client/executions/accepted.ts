import { countRollCall } from '../../postgres/nodes/rollCall';
import { answerOf } from '../../workflows/planning/executions/rollCall';
import type { AnswerCode, ExecuteAnswer } from '../../workflows/planning/executions/rollCall';
import type { ClientContext } from '../context';
import type { ExecuteOptions, Template } from './check';
import { Execution } from './handle';

/** The handle of an execution that was just accepted, with the answer to its request. */
export class AcceptedExecution extends Execution {
  /**
   * `202`: nodes can run it now. `404`: no node that answers has it, so its items will fail.
   * `503`: no node answers now, so it waits for one.
   */
  readonly code: AnswerCode;
  /** The same as text, with the remedy. */
  readonly message: string;

  /** @internal */
  constructor(client: ClientContext, id: string, { code, message }: ExecuteAnswer) {
    super(client, id);
    this.code = code;
    this.message = message;
  }
}

/**
 * Returns whether nodes can run a stored request now. Never throws, since the request is accepted
 * in any case.
 */
export const askAnswer = async (
  { pool }: ClientContext,
  { functionId, config = {} }: Template,
  { topic }: ExecuteOptions,
  items: number,
): Promise<ExecuteAnswer> => {
  const { attributes = {}, numberOfNodes } = config;
  const needs = { functionId, attributes, topic: topic ?? null };
  try {
    return answerOf(await countRollCall(pool, needs), { ...needs, numberOfNodes, items });
  } catch {
    return { code: '202', message: `Accepted: items: ${items}. Whether a node can run them now is not known.` };
  }
};
