import { countRollCall } from '../../postgres/nodes/rollCall';
import { answerOf } from '../../workflows/planning/executions/rollCall';
import type { AnswerCode, ExecuteAnswer } from '../../workflows/planning/executions/rollCall';
import type { ClientContext } from '../context';
import type { ExecuteOptions, Template } from './check';
import { Execution } from './handle';

/** The handle on an execution that was just accepted, and what was answered. */
export class AcceptedExecution extends Execution {
  /**
   * `202`: nodes can run it now. `404`: no live node has the function, so its items will fail.
   * `503`: no node answers now, so it waits for one.
   */
  readonly code: AnswerCode;
  /** The same for people, with the remedy. */
  readonly message: string;

  /** @internal */
  constructor(client: ClientContext, id: string, { code, message }: ExecuteAnswer) {
    super(client, id);
    this.code = code;
    this.message = message;
  }
}

/**
 * Says what the nodes can do for a request that is stored. Never throws: the request is accepted,
 * whatever comes of the question.
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
