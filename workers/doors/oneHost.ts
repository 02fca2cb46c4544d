import type { IncomingMessage } from 'node:http';

/** A name or address, and a port: nothing that another server could read as two. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Says whether a request names the host that it is for exactly once (RFC 9112, 3.2). Node takes the
 * first of several; a server in front of it may take another one. Only HTTP/1.0 may name none.
 */
export const namesOneHost = ({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): boolean => {
  if (httpVersion === '0.9') return false;
  const hosts = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === 'host');
  if (hosts.length === 0) return httpVersion === '1.0';
  return hosts.length === 1 && HOST.test(hosts[0]!);
};
