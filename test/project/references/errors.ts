import { exitCodeOf } from '../../../client/cli/support/exitCodes';
import { problemOfCode } from '../../../workers/api/errors';
import { PROBLEMS } from '../../../workers/api/problem';
import { ERROR_CODES } from '../../../workflows/planning/errorCodes';
import type { ErrorCode } from '../../../workflows/planning/errorCodes';
import { code, page, table } from './markdown';

/** Every stable code of an error, and every problem of the API. */
export const errorsReference = (): string =>
  page('Errors', [
    [
      'Errors of the client library, of the command line (`--json`) and of the HTTP API carry a stable `code`. A',
      'message names the field, what was expected, what came, and the remedy.',
    ].join(' '),
    '## Codes',
    [
      'Codes of single tasks and items stand in the `errors` of the problem of the last column. Where that is',
      'empty, the code belongs to the command line or to a process, or is an `internal` error.',
    ].join(' '),
    table(
      ['code', 'meaning', 'what to do', 'exit code', 'HTTP'],
      (Object.keys(ERROR_CODES) as ErrorCode[]).sort().map((name) => {
        const [meaning, remedy] = ERROR_CODES[name];
        return [code(name), meaning, remedy, String(exitCodeOf({ code: name })), statusOf(name)];
      }),
    ),
    '## Problems of the HTTP API',
    [
      'An error of the API is a problem document (RFC 9457). The last part of its `type` is the name; where no',
      'error of the library has a code, its `code` is the name in capitals.',
    ].join(' '),
    table(
      ['name', 'status', 'title'],
      Object.entries(PROBLEMS).map(([name, [status, title]]) => [code(name), String(status), title]),
    ),
  ]);

const statusOf = (name: ErrorCode): string => {
  const problem = problemOfCode(name);
  return problem === null ? '' : `${PROBLEMS[problem][0]} ${code(problem)}`;
};
