import type { ErrorCode } from '../../../workflows/planning/errorCodes';
import { show } from '../../../handlers/text';
import type { TaskProblem } from '../../errors';

/** A problem with one line of a file. */
export interface LineProblem {
  line: number;
  id?: string;
  field: string;
  code: ErrorCode;
  message: string;
}

/** Converts a problem of a task in a call into a problem of the task's line. */
export const atLine = ({ id, field, code, message }: TaskProblem, line: number): LineProblem => ({
  line,
  ...(id === undefined ? {} : { id }),
  field,
  code,
  message,
});

export const sayProblem = ({ line, id, field, message }: LineProblem): string =>
  `line ${line}${id === undefined ? '' : ` (id ${show(id, 80)})`}${field === 'line' ? '' : `, ${field}`}: ${message}`;
