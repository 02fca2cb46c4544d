/** Where a viewer is: the whole state of a page, so that its address can be sent to a colleague. */
export interface Place {
  path: readonly string[];
  query: Readonly<Record<string, string>>;
}

/** Returns the place that a fragment names, such as `#/handlers/orders?after=se`. */
export const parsePlace = (hash: string): Place => {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s);
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
};

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

export type Query = Readonly<Record<string, string | number | null | undefined>>;
const queryText = (query: Query): string => {
  const given = Object.entries(query).filter(([, value]) => value != null && value !== '');
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
};

/** Returns the address of a place within the page. */
export const hrefOf = (path: readonly string[], query: Query = {}): string =>
  `#/${path.map(encodeURIComponent).join('/')}${queryText(query)}`;

/** Returns a path of the API, whose verbs stand behind a colon. */
export const apiPath = (path: readonly string[], query: Query = {}): string =>
  `/${path.map((part) => encodeURIComponent(part).replaceAll('%3A', ':')).join('/')}${queryText(query)}`;
