/** Forms of the paths of all pages; `*` is any part. The overview is the empty path. */
export const FORMS = [
  '',
  'handlers/*',
  'handlers/*/tasks',
  'handlers/*/batches',
  'handlers/*/targets/*',
  'tasks/*',
  'batches/*',
  'lanes',
  'lanes/*',
  'fanouts',
  'fanouts/*',
  'executions',
  'executions/*',
  'nodes',
  'errors',
  'callbacks',
  'bulk',
  'bulk/*',
  'audit',
] as const;
export type Form = (typeof FORMS)[number];

/** Returns the form of a path; null: no page has it. */
export const formOf = (path: readonly string[]): Form | null =>
  FORMS.find((form) => {
    const parts = form === '' ? [] : form.split('/');
    return parts.length === path.length && parts.every((part, i) => part === '*' || part === path[i]);
  }) ?? null;
