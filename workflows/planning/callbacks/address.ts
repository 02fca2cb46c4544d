import { utf8Length } from '../grouping/hash';

/** Most bytes of a callback's URL. Postgres indexes addresses, of at most 2,704 bytes each. */
export const URL_MAX = 2_000;
/** Most bytes of the ids of a callback's workflow and run, and of its signal's name. */
export const NAME_MAX = 1_000;
/** Most bytes of these three together. */
const NAMES_MAX = 2_500;
/** How a callback's URL begins. */
export const WEB = /^https?:\/\//;

const NAMES = ['workflowId', 'runId', 'signal'];

/** What is wrong with a callback. */
interface CallbackFault {
  /** Empty: the callback itself. */
  field: string;
  expected: string;
  got: unknown;
}

/** Returns what is wrong with a callback, at whichever door it came. Null: nothing. */
export const callbackFault = (value: unknown): CallbackFault | null => {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const fields = Object.keys(given).filter((name) => given[name] !== undefined);
  const isFor = (all: readonly string[]): boolean =>
    fields.includes(all[0]!) && fields.every((one) => all.includes(one));
  if (isFor(NAMES)) {
    const field = NAMES.find((name) => fields.includes(name) && !isName(given[name]));
    if (field !== undefined)
      return { field, expected: `1-${NAME_MAX} bytes of well-formed text without NUL`, got: given[field] };
    if (fields.reduce((sum, name) => sum + utf8Length(given[name] as string), 0) <= NAMES_MAX) return null;
    return { field: '', expected: `ids and a signal of at most ${NAMES_MAX} bytes together`, got: value };
  }
  if (isFor(['url']) && isUrl(given['url'])) return null;
  return { field: '', expected: '{url: "https://..."} or {workflowId, runId?, signal?}', got: value };
};

const isName = (value: unknown): boolean => value !== '' && isText(value, NAME_MAX);

const isText = (value: unknown, mostBytes: number): value is string =>
  typeof value === 'string' &&
  value.length <= mostBytes &&
  utf8Length(value) <= mostBytes &&
  !/[\0\p{Surrogate}]/u.test(value);

const isUrl = (value: unknown): boolean =>
  isText(value, URL_MAX) && WEB.test(value) && URL.canParse(value) && utf8Length(withPlainHost(value)) <= URL_MAX;

/** Returns a callback without faults as it is stored. */
export const storedCallback = (value: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(value as Record<string, string | undefined>)
      .filter((one): one is [string, string] => one[1] !== undefined)
      .map(([name, text]) => [name, name === 'url' ? withPlainHost(text) : text]),
  );

/** Scheme, host and port of a URL, after tabs and line ends were left out, as the standard does. */
const ORIGIN = /^https?:[/\\]+[^/?#\\]*/;

/**
 * Returns a URL with its scheme, host and port as the URL standard spells them, and the rest as it
 * was: deliveries are counted by host, and each spelling would have the share of another host.
 * A URL with a user is left as it is: nothing is sent there.
 */
const withPlainHost = (url: string): string => {
  const { origin, username, password } = new URL(url);
  return username === '' && password === '' ? url.replace(/[\t\n\r]/g, '').replace(ORIGIN, () => origin) : url;
};
