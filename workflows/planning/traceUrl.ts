/** Where the traces of tasks are shown: an address with a place for the id of a trace. */

/** What stands in the address for the id. */
export const TRACE_ID = '{traceId}';

const WEB_SCHEMES: readonly string[] = ['http:', 'https:'];
const SAMPLES = ['a'.repeat(32), 'b'.repeat(32)] as const;

/** Returns the address of a trace. */
const filled = (template: string, traceId: string): string => template.replaceAll(TRACE_ID, traceId);

/**
 * Says whether it is an http or https address with a place for the id behind its host: no id may
 * choose where a link leads.
 */
export const isTraceUrl = (template: string): boolean => {
  const urls = SAMPLES.map((id) => filled(template, id));
  if (!urls.every((url) => URL.canParse(url))) return false;
  const [a, b] = urls.map((url) => new URL(url)) as [URL, URL];
  return WEB_SCHEMES.includes(a.protocol) && a.host === b.host && hasNoUser(a) && a.href !== b.href;
};

/** The address is told to every viewer: it may have no credentials. */
const hasNoUser = ({ username, password }: URL): boolean => username === '' && password === '';

/** Returns the trace id of a W3C `traceparent`; null: it has none. */
export const traceIdIn = (traceparent: string): string | null =>
  /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent)?.[1] ?? null;

/** Returns the address of the trace of a `traceparent`; null: none is known. */
export const traceUrlOf = (template: string | null, traceparent: string): string | null => {
  const id = traceIdIn(traceparent);
  return template === null || id === null ? null : filled(template, id);
};
