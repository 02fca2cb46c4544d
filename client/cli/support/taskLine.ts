import type { ErrorCode } from '../../../workflows/planning/errorCodes';
import { didYouMean } from '../../../handlers/suggest';
import { show } from '../../../handlers/text';
import { fieldAt, lossyNumber, lossyNumberMessage } from '../../../workflows/planning/jsonText';
import type { TaskInput } from '../../tasks/checkTasks';
import { TASK_FIELDS } from '../../tasks/checkTasks';
import type { LineProblem } from './lineProblem';
import type { Line } from './lines';
import { INVALID_UTF8 } from './lines';

/**
 * Returns the task of one line, or the problem of the line itself. The task is checked against its
 * handler later (`checkTask`).
 */
export const parseTaskLine = ({ number, text }: Line, maxLineBytes: number): TaskInput | LineProblem => {
  const refuse = (code: ErrorCode, message: string, id?: unknown, field = 'line'): LineProblem => ({
    line: number,
    ...(typeof id === 'string' ? { id } : {}),
    field,
    code,
    message,
  });
  if (text === null)
    return refuse('LINE_TOO_LONG', `expected a line of at most ${maxLineBytes} bytes, got a longer one`);
  if (text === INVALID_UTF8) return refuse('INVALID_UTF8', 'expected UTF-8 text, got other bytes');
  let task: unknown;
  try {
    task = JSON.parse(text);
  } catch (error) {
    return refuse(
      'INVALID_JSON',
      `expected one JSON object {"id", "payload"}, got ${show(text, 80)}: ${(error as Error).message}${arrayHint(text)}`,
    );
  }
  if (typeof task !== 'object' || task === null || Array.isArray(task))
    return refuse(
      'INVALID_TASK',
      `expected one JSON object {"id", "payload"}, got ${show(task, 80)}${arrayHint(text)}`,
    );
  const lossy = lossyNumber(text);
  if (lossy !== null)
    return refuse('LOSSY_NUMBER', lossyNumberMessage(lossy.number), (task as { id?: unknown }).id, fieldAt(lossy.path));
  const unknown = Object.keys(task).find((key) => !TASK_FIELDS.includes(key));
  if (unknown !== undefined)
    return refuse(
      'UNKNOWN_FIELD',
      `expected only ${TASK_FIELDS.join(', ')}, got ${show(unknown, 80)}${didYouMean(unknown, TASK_FIELDS)}`,
      (task as { id?: unknown }).id,
    );
  return task as TaskInput;
};

const arrayHint = (text: string): string =>
  text.startsWith('[') ? '. Write one JSON object per line (NDJSON), not an array: jq -c ".[]" converts it' : '';

export const isLineProblem = (parsed: TaskInput | LineProblem): parsed is LineProblem =>
  'line' in parsed && 'code' in parsed;
