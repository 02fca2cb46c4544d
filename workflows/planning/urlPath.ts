/**
 * Says whether a path of a URL has a part that is `.` or `..`: by the URL standard that is taken
 * away, with the part before it, also where it is encoded.
 */
export const climbs = (path: string): boolean =>
  path
    .replace(/[?#].*$/s, '')
    .split(/[/\\]/)
    .some((part) => /^(\.|%2e){1,2}$/i.test(part));
