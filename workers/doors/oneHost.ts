import type { IncomingMessage } from 'node:http';

/**
 * A name or address, and a port: nothing that another server could read as two, or as a path. Names
 * are not looked at otherwise: probes name clusters, as `outbound|8080||api.svc`.
 */
const HOST = /^(?:[^\s,@/\\?#:[\]]*|\[[\da-f:.]+\])(?::\d{0,5})?$/i;
/** The host of a target in absolute form, which has to be the one that `Host` names. */
const ABSOLUTE = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i;

/**
 * Says whether a request names the host that it is for exactly once (RFC 9112, 3.2). Node takes the
 * first of several; a server in front of it may take another one. Only HTTP/1.0 may name none.
 */
export const namesOneHost = ({
  rawHeaders,
  httpVersion,
  url = '',
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'url'>): boolean => {
  if (httpVersion === '0.9') return false;
  const hosts = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === 'host');
  const target = ABSOLUTE.exec(url)?.[1];
  if (hosts.length === 0) return httpVersion === '1.0' && target === undefined;
  return hosts.length === 1 && HOST.test(hosts[0]!) && (target === undefined || target === hosts[0]);
};
