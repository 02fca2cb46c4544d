import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { ASSETS, pageFolder } from '../../pageFolder';

/** A file of the dashboard as it is served. */
export interface Asset {
  body: Buffer;
  zipped: Buffer;
  headers: Readonly<Record<string, string>>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** The name of an asset has the hash of its content: it never changes. */
const CACHING = { page: 'no-cache', asset: 'public, max-age=31536000, immutable' } as const;

/** No script or style but our files, no other site, in no frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const assetOf = (file: string, kind: keyof typeof CACHING): Asset => {
  const body = readFileSync(file);
  return {
    body,
    zipped: gzipSync(body, { level: 9 }),
    headers: {
      'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
      'cache-control': CACHING[kind],
      'content-security-policy': POLICY,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
      vary: 'accept-encoding',
    },
  };
};

/** Returns the dashboard's files by path; empty: it was not built. */
export const readAssets = (): ReadonlyMap<string, Asset> => {
  const folder = pageFolder();
  const index = path.join(folder, 'index.html');
  if (!existsSync(index)) return new Map();
  const assets = path.join(folder, ASSETS);
  return new Map([
    ['/', assetOf(index, 'page')],
    ...readdirSync(assets).map((name): [string, Asset] => [
      `/${ASSETS}/${name}`,
      assetOf(path.join(assets, name), 'asset'),
    ]),
  ]);
};
