import type { ErrorCode } from '../workflows/planning/errorCodes';

/**
 * One problem of a configuration: its place (a dotted path, or '' for the whole), and a message
 * with what was expected, what was given, and what to do.
 */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/**
 * A handler, or the file that lists handlers, is wrong. Has all problems at once. Match errors by
 * `code`, since a bundle may contain a second copy of the class.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code: ErrorCode = 'INVALID_CONFIG';
  constructor(
    /** What was checked, such as `handler "orders"` or `the handlers file`. */
    readonly subject: string,
    readonly problems: readonly Problem[],
  ) {
    const lines = problems.map(({ path, message }) => `  ${path === '' ? '(whole)' : path}: ${message}`);
    super(`${subject}: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}\n${lines.join('\n')}`);
  }
}

/** Collects problems while a configuration is compiled, so that no problem hides another. */
export class Findings {
  readonly problems: Problem[] = [];

  add(path: string, message: string): void {
    this.problems.push({ path, message });
  }
}
