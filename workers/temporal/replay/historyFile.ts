import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { MusterError } from '../../../client/errors';
import type { RunHistory } from './runs';

/**
 * Reads the history of a run from JSON, as `temporal workflow show --output json` and the Web UI
 * write it. `name`: of the file, for the error. Throws a `MusterError` for anything else.
 */
export const historyOf = (json: string, name: string): RunHistory => {
  const history = parsed(json, name);
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  if (started == null)
    throw unreadable(name, 'its first event is no start of a workflow. Expected {"events": [...]}, from the first one');
  const { workflowId } = started;
  if (typeof workflowId !== 'string' || workflowId === '')
    throw unreadable(
      name,
      'its first event names no workflow. Expected workflowExecutionStartedEventAttributes.workflowId',
    );
  return { workflowId, history };
};

const parsed = (json: string, name: string): RunHistory['history'] => {
  try {
    return historyFromJSON(JSON.parse(json));
  } catch (error) {
    throw unreadable(name, `${(error as Error).message}. Expected the JSON of one history`);
  }
};

const unreadable = (name: string, why: string): MusterError =>
  new MusterError(
    'INVALID_ARGUMENT',
    `Cannot read the history in ${name}: ${why}. Save it with: temporal workflow show --output json`,
  );
