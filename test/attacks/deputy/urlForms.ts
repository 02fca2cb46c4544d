/** Spellings by which a URL is made to look allowed and to lead somewhere else. */

/** Spellings of 127.0.0.1, or of this machine. */
const SPELLINGS = [
  '127.0.0.1',
  '127.0.0.1.',
  '127.0.1',
  '127.1',
  '2130706433',
  '2130706433.',
  '0x7f000001',
  '0x7F.0.0.1',
  '0x7f.0x0.0x0.0x1',
  '0177.0.0.1',
  '0177.0000.0000.0001',
  '017700000001',
  '0',
  '0.0.0.0',
  '127%2e0%2e0%2e1',
  '%31%32%37%2e%30.0.1',
  '127。0。0。1',
  '127．0．0．1',
  '①②⑦.⓪.⓪.①',
  '１２７.0.0.1',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[::]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'loc%61lhost',
  'ⓛocalhost',
  'ｌｏｃａｌｈｏｓｔ',
  'local\u00adhost',
];

/** Ways to write a host into a URL, beside the name of an allowed one. */
const FORMS: readonly ((host: string, port: number, allowed: string) => string)[] = [
  (host, port) => `//${host}:${port}/`,
  (host, port, allowed) => `//${allowed}@${host}:${port}/`,
  (host, port, allowed) => `//${allowed}:x@${host}:${port}/`,
  (host, port, allowed) => `//${encodeURIComponent(allowed)}@${host}:${port}/`,
  (host, port, allowed) => `//${allowed}%40${host}:${port}/`,
  (host, port, allowed) => `//${allowed}@@${host}:${port}/`,
  (host, port, allowed) => `//${host}:${port}\\@${allowed}/`,
  (host, port, allowed) => `//${host}:${port}/@${allowed}/`,
  (host, port, allowed) => `//${host}:${port}?@${allowed}/`,
  (host, port, allowed) => `//${host}:${port}#@${allowed}/`,
  (host, port, allowed) => `//${host}:${port}/${allowed}`,
  (host, port, allowed) => `//${allowed}\\@${host}:${port}/`,
  (host, port) => `\\\\${host}:${port}/`,
  (host, port) => `/\\${host}:${port}/`,
  (host, port) => `/${host}:${port}/`,
  (host, port) => `////${host}:${port}/`,
  (host, port) => `${host}:${port}/`,
  (host, port) => `//${host.slice(0, 2)}\t${host.slice(2)}:${port}/`,
  (host, port) => `//${host}\n:${port}/`,
  (host, port, allowed) => `//${allowed}\r\nHost: ${host}:${port}/`,
  (host, port) => `//${host}:0${port}/`,
  (host, port) => `//${host}:${port + 65_536}/`,
  (host, port, allowed) => `//${host}:${port}.${allowed}/`,
  (host, port, allowed) => `//${allowed}.${host}:${port}/`,
  (host, port) => `//${host}%00:${port}/`,
  (host, port, allowed) => `//${host}%2f@${allowed.split(':')[0]}:${port}/`,
];

const SCHEMES = ['http:', 'https:', 'HTTP:', ' http:', 'ht\ttp:'];

/**
 * Returns URLs that lead to this machine's port, or pretend to; `allowed` is a host that the list
 * names.
 */
export const urlForms = (port: number, allowed: string): string[] => [
  ...new Set(
    SCHEMES.flatMap((scheme) =>
      SPELLINGS.flatMap((host) => FORMS.map((form) => `${scheme}${form(host, port, allowed)}`)),
    ),
  ),
];
