import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { useConfigFolder } from '../../cli/configFolder';

/** `temporal.tls` of a JSON config file. */

const folder = useConfigFolder();
const { load } = folder;
const HANDLER = {
  kind: 'http',
  name: 'a',
  target: 'x',
  limits: { maxItems: 5 },
  request: { method: 'POST', url: 'http://127.0.0.1/', encode: 'json', item: '{{payload}}' },
  response: { results: 'items', matchBy: 'position', status: { path: 'status', ok: [200] } },
};
const writeConfig = (settings: object): void =>
  writeFileSync(path.join(folder.cwd, 'muster.config.json'), JSON.stringify({ handlers: [HANDLER], ...settings }));

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n';
const KEY = '-----BEGIN PRIVATE KEY-----\nhidden\n-----END PRIVATE KEY-----\n';

test('TLS options of a JSON file are text in PEM, and the key comes from the environment', async () => {
  const pair = { crt: CERTIFICATE, key: { env: 'CLIENT_KEY' } };
  const tls = { serverNameOverride: 'temporal', serverRootCACertificate: CERTIFICATE, clientCertPair: pair };
  writeConfig({ temporal: { tls } });
  const { connection } = (await load({ CLIENT_KEY: KEY })).temporal;
  expect(connection.tls).toEqual({
    serverNameOverride: 'temporal',
    serverRootCACertificate: Buffer.from(CERTIFICATE),
    clientCertPair: { crt: Buffer.from(CERTIFICATE), key: Buffer.from(KEY) },
  });
});

test.each<[string, unknown, RegExp]>([
  [
    'a misspelt option',
    { serverRootCACertificat: CERTIFICATE },
    /temporal\.tls\.serverRootCACertificat: unknown setting/,
  ],
  [
    'a path',
    { serverRootCACertificate: 'ca.pem' },
    /tls\.serverRootCACertificate: expected text in PEM.*got another string/,
  ],
  [
    'a key in a JSON file',
    { clientCertPair: { crt: CERTIFICATE, key: KEY } },
    /clientCertPair\.key: expected \{"env": "NAME"\}/,
  ],
  ['half a pair', { clientCertPair: { crt: CERTIFICATE } }, /temporal\.tls\.clientCertPair\.key: /],
  ['a text', 'yes', /temporal\.tls: expected true, false, or \{serverNameOverride.*got "yes"/],
])('refused as TLS options, by name and without the secret: %s', async (_, tls, message) => {
  writeConfig({ temporal: { tls } });
  const error = await load().then(
    () => null,
    (reason: Error) => reason,
  );
  expect(error?.message).toMatch(message);
  expect(error?.message).not.toContain('hidden');
});
