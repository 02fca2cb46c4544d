/**
 * One problem of a configuration: where (dotted path, '' for the whole) and what was expected, what
 * came, what to do.
 */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/**
 * A handler, or the file that lists handlers, is wrong. Carries every problem at once. Match on
 * `name`: bundles may duplicate the class.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(
    /** What was checked: `handler "orders"`, `the handlers file`. */
    readonly subject: string,
    readonly problems: readonly Problem[],
  ) {
    const lines = problems.map(({ path, message }) => `  ${path === '' ? '(whole)' : path}: ${message}`);
    super(`${subject}: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}\n${lines.join('\n')}`);
  }
}

/** Collects problems while a configuration is compiled, so that none hides another. */
export class Findings {
  readonly problems: Problem[] = [];

  add(path: string, message: string): void {
    this.problems.push({ path, message });
  }
}
