import type { Findings } from '../configError';

/**
 * Finds the name to which a status belongs: by its exact text or number first, then by its class,
 * such as `4xx`.
 */
export interface StatusTable<N extends string> {
  find(status: string): N | undefined;
}

const CLASS = /^[1-9]xx$/i;
const classOf = (status: string): string | undefined => (/^[1-9]\d\d$/.test(status) ? `${status[0]}xx` : undefined);

/**
 * Compiles a table such as `{ok: ["2xx", "created"], retry: [429]}`. A pattern under two names is a
 * problem. The form of `raw` is checked elsewhere.
 */
export function compileTable<N extends string>(
  raw: unknown,
  names: readonly N[],
  at: string,
  findings: Findings,
): StatusTable<N> {
  const byPattern = new Map<string, N>();
  for (const name of names) {
    const patterns = (raw as Record<string, unknown> | undefined | null)?.[name];
    if (!Array.isArray(patterns)) continue;
    for (const pattern of patterns as unknown[]) {
      const text = String(pattern);
      const key = CLASS.test(text) ? text.toLowerCase() : text;
      const other = byPattern.get(key);
      if (other !== undefined && other !== name)
        findings.add(`${at}.${name}`, `expected each status under one name, got ${key} under ${other} too`);
      byPattern.set(key, name);
    }
  }
  return { find: (status) => byPattern.get(status) ?? byPattern.get(classOf(status) ?? '') };
}
