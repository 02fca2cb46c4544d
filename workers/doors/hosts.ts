/** Returns the name in a Host header, without its port. */
export const nameInHost = (host: string): string => host.replace(/:\d+$/, '');

/** Says whether only this machine reaches an address, or is meant by a name. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
