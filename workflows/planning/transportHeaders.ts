/** Headers that the transport writes, or that belong to one hop. In lower case. */
const TRANSPORT = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'http2-settings',
]);

/** Says whether neither a config file nor a caller may set this header, given in lower case. */
export const isTransportHeader = (name: string): boolean => TRANSPORT.has(name) || name.startsWith('proxy-');
