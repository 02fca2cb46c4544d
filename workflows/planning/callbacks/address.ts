/** Most characters of a callback's URL. */
export const URL_MAX = 2_000;
/** Most characters of the ids of a callback's workflow and run, and of its signal's name. */
export const NAME_MAX = 1_000;
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
    if (field === undefined) return null;
    return { field, expected: `text of 1 to ${NAME_MAX} characters without NUL`, got: given[field] };
  }
  if (isFor(['url']) && isUrl(given['url'])) return null;
  return { field: '', expected: '{url: "https://..."} or {workflowId, runId?, signal?}', got: value };
};

const isName = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.length <= NAME_MAX && !value.includes('\0');

const isUrl = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= URL_MAX && WEB.test(value) && URL.canParse(value);
