/** What a project is made of: the name of its handler, and where its batches go. */
export interface Project {
  /** Lower-case letters, digits and dashes. */
  handler: string;
  kind: 'typescript' | 'json';
  /** Of a handler in JSON. */
  url: string;
  /** Of temporal-muster, and of what it needs to run here. */
  versions: Readonly<Record<string, string>>;
}

export const HANDLER_NAME = /^[a-z][a-z0-9-]{0,62}$/;

/** Returns a handler's name as TypeScript writes it: `index-city` as `indexCity`. */
export const camelCase = (name: string): string =>
  name.replace(/-+(.)?/g, (_, next: string = '') => next.toUpperCase());

/** Returns the name of a type: `index-city` as `IndexCityTask`. */
export const typeName = (name: string): string => {
  const camel = camelCase(name);
  return `${camel[0]!.toUpperCase()}${camel.slice(1)}Task`;
};
