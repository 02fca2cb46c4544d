/** Returns the name in a Host header, without its port. */
export const nameInHost = (host: string): string => host.replace(/:\d+$/, '');

/** Says whether only this machine reaches an address, or is meant by a name. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);

/** Says whether an Origin header names the host that was asked: no page elsewhere sends that. */
export const isOriginOf = (origin: string, host: string | null): boolean =>
  host !== null && [`http://${host}`, `https://${host}`].includes(origin.toLowerCase());
