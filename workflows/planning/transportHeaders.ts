/** What may stand in a header, by its name and its value. */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

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
