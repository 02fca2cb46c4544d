import { isIP } from 'node:net';

/**
 * Reads lists of allowed hosts (`callbacks.allow`, `executions.httpAllow`): `host`, `host:port` or
 * `host:*`, each also with a scheme. Both sides are compared as the URL standard spells them.
 */

type Scheme = 'http' | 'https';

interface AllowedHost {
  /** Null: the usual schemes of the list. */
  scheme: Scheme | null;
  host: string;
  /** Null: the default port of the URL's scheme. */
  port: string | null;
}

const ENTRY = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[^\s/\\@?#%:*[\]]+)(?::(\d{1,5}|\*))?$/i;
const PORT_MAX = 65_535;
const DEFAULT_PORTS: Record<Scheme, string> = { http: '80', https: '443' };

/** Reads one entry; null: it is none. */
export const parseAllowed = (entry: string): AllowedHost | null => {
  const [, scheme, host, port] = ENTRY.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (host === undefined || !URL.canParse(`https://${host}/`)) return null;
  if (port !== undefined && port !== '*' && (Number(port) < 1 || Number(port) > PORT_MAX)) return null;
  return {
    scheme: scheme === undefined ? null : (scheme.toLowerCase() as Scheme),
    host: hostOf(new URL(`https://${host}/`)),
    port: port === undefined ? null : port === '*' ? port : String(Number(port)),
  };
};

/** Returns a URL's host in one spelling: a name with and without a dot at its end is the same. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, '');

/** Returns a host without the brackets of IPv6. */
export const bareHost = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** Which schemes an entry without one allows: `https` alone lets http only reach this machine. */
type Usual = 'http and https' | 'https';

/** Says whether the list names the URL's scheme, host and port. */
export const isAllowedUrl = (allow: readonly string[], url: URL, usual: Usual): boolean => {
  const scheme = schemeOf(url);
  if (scheme === null) return false;
  const host = hostOf(url);
  const port = portOf(url, scheme);
  const isUsual = scheme === 'https' || usual === 'http and https' || isLoopbackName(bareHost(host));
  return allow.some((entry) => {
    const allowed = parseAllowed(entry);
    if (allowed === null || allowed.host !== host) return false;
    if (allowed.scheme === null ? !isUsual : allowed.scheme !== scheme) return false;
    return allowed.port === '*' || port === (allowed.port ?? DEFAULT_PORTS[scheme]);
  });
};

/**
 * Says whether the list names the address itself for the URL, whose host is another name of it. An
 * entry names it for its own scheme and port alone, for any where it has none.
 */
export const namesAddress = (allow: readonly string[], address: string, url: URL): boolean => {
  const scheme = schemeOf(url);
  if (scheme === null) return false;
  const port = portOf(url, scheme);
  return allow.some((entry) => {
    const allowed = parseAllowed(entry);
    if (allowed === null || bareHost(allowed.host) !== address) return false;
    if (allowed.scheme !== null && allowed.scheme !== scheme) return false;
    return allowed.port === null || allowed.port === '*' || allowed.port === port;
  });
};

/** Returns a URL's scheme; null: neither http nor https. */
const schemeOf = ({ protocol }: URL): Scheme | null =>
  protocol === 'https:' ? 'https' : protocol === 'http:' ? 'http' : null;

const portOf = ({ port }: URL, scheme: Scheme): string => (port === '' ? DEFAULT_PORTS[scheme] : port);

/** Says whether the host means this machine, without asking a name server. */
const isLoopbackName = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || isLoopback(host);

export const isLoopback = (address: string): boolean => address === '::1' || /^127\.\d+\.\d+\.\d+$/.test(address);
