import { nodesAsked, nodesWanted } from './chunks';

/** What a node must have to be asked by an execution. */
export interface RollCallNeeds {
  functionId: string;
  /** Attributes of which a node must have all. */
  attributes: Readonly<Record<string, string>>;
  /** The topic to which a node must subscribe; null: any node will do. */
  topic: string | null;
}

/** How many nodes meet each condition and the conditions before it. */
export interface RollCallCounts {
  /** Live, not draining, and able to run functions. */
  able: number;
  subscribed: number;
  fitting: number;
  answering: number;
  /** Have the function among those that they say they have. */
  serving: number;
}

/** Returns why no node answers, and what to do; null: some node answers. */
export const whyUnanswered = (counts: RollCallCounts, needs: RollCallNeeds): string | null => {
  if (counts.answering > 0) return null;
  const attributes = Object.entries(needs.attributes).map(([name, value]) => `${name}=${value}`);
  if (counts.able === 0)
    return 'no live node runs functions. Start a worker whose config file has `functions`, `executions.functionStore` or `executions.httpAllow`';
  if (counts.subscribed === 0)
    return `no live node subscribes to topic ${JSON.stringify(needs.topic)}. Add it to \`executions.topics\` in the config file of a node, or send the request without a topic`;
  if (counts.fitting === 0)
    return `no such node has the attributes ${attributes.join(', ')}. Add them to \`executions.attributes\` in the config file of a node`;
  const such = counts.fitting === 1 ? 'the one such node' : `all ${counts.fitting} such nodes`;
  return `the main thread of ${such} gives no sign of life. Wait until a function that blocks it ends, or restart the process`;
};

/**
 * The codes of the immediate answer. `202`: accepted. `404`: accepted, but no node has the
 * function. `503`: accepted, but no node answers now.
 */
export const ANSWER_CODES = ['202', '404', '503'] as const;
export type AnswerCode = (typeof ANSWER_CODES)[number];
/** The immediate answer to an execution request, besides its id. */
export interface ExecuteAnswer {
  code: AnswerCode;
  message: string;
}

export const answerOf = (
  counts: RollCallCounts,
  request: RollCallNeeds & { numberOfNodes: number | undefined; items: number },
): ExecuteAnswer => {
  const { functionId, items } = request;
  const why = whyUnanswered(counts, request);
  if (why !== null)
    return { code: '503', message: `Accepted, but no node can run it now: ${why}. It starts when a node answers.` };
  if (counts.serving === 0)
    return {
      code: '404',
      message:
        `Accepted, but no node that answers has function ${JSON.stringify(functionId)}: each that is given an item ` +
        'reports that, and it counts an attempt. Cancel the execution, or add the function to a node.',
    };
  const nodes = Math.min(nodesWanted(nodesAsked(request.numberOfNodes), items), counts.serving);
  return { code: '202', message: `Accepted: items: ${items}, nodes that can run them now: ${nodes}.` };
};
