/** Returns the name in a Host header, without its port. */
export const nameInHost = (host: string): string => host.replace(/:\d+$/, '');

/** Says whether only this machine reaches an address, or is meant by a name. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);

/** Says whether an Origin header names the host that was asked: no page elsewhere sends that. */
export const isOriginOf = (origin: string, host: string | null): boolean =>
  host !== null && [`http://${host}`, `https://${host}`].includes(origin.toLowerCase());

/**
 * Returns why a request to a server of this machine alone is refused by its Host header; null: it
 * is not. A page of some web site whose name was rebound to this machine names that site. `others`:
 * names that a proxy of the operator may pass on, in small letters.
 */
export const refusalOfHost = (host: string | undefined, others: readonly string[] = []): string | null => {
  const name = nameInHost(host ?? '');
  if (isLoopback(name) || others.includes(name.toLowerCase())) return null;
  return `Host: expected this machine (localhost, 127.0.0.1), got ${JSON.stringify(name)}.`;
};
