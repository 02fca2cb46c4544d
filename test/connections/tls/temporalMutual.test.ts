import { temporalAddress } from '../../helpers/database';
import type { MutualFront } from './mutualFront';
import { startMutualFront } from './mutualFront';
import type { Env, TlsWorld } from './world';
import { rounds } from '../../helpers/long';
import { createTlsWorld, expectAcceptedUntold, expectRefusedAtOnce, identityOf, useEveryDoor } from './world';

/**
 * A Temporal behind TLS that demands a certificate: the command line as processes. All ways to be
 * refused are tried in the long form.
 *
 * @slow
 */

let world: TlsWorld;
let front: MutualFront;
beforeAll(async () => {
  world = await createTlsWorld();
  const { certificates } = world;
  certificates.certificate('stranger', 'another', 'DNS:client');
  front = await startMutualFront(temporalAddress(), identityOf(certificates, 'server'), certificates.read('ours.pem'));
}, 60_000);
afterAll(async () => {
  await world.close();
  await front.stop();
});

const TLS = 'TEMPORAL_TLS_';
/** Settings by files, as they are mounted. */
const secured = (changes: Record<string, string | null> = {}): Env => {
  const all: Record<string, string | null> = {
    TEMPORAL_ADDRESS: front.address,
    [`${TLS}SERVER_CA_CERT_PATH`]: world.certificates.path('ours.pem'),
    [`${TLS}CLIENT_CERT_PATH`]: world.certificates.path('client.crt'),
    [`${TLS}CLIENT_KEY_PATH`]: world.certificates.path('client.key'),
    ...changes,
  };
  const given = (entry: [string, string | null]): entry is [string, string] => entry[1] !== null;
  return Object.fromEntries(Object.entries(all).filter(given));
};
/** No line of a key of any certificate stands in a text. */
const hidesKeys = (text: string): void => {
  const lines = ['client', 'stranger', 'server'].flatMap((name) => world.certificates.read(`${name}.key`).split('\n'));
  expect(lines.filter((line) => /^[\w+/=]{20,}$/.test(line) && text.includes(line))).toEqual([]);
};

test.each([
  ['named by paths', () => secured()],
  [
    'in files that <name>_FILE names',
    () =>
      secured({
        [`${TLS}SERVER_CA_CERT_PATH`]: null,
        [`${TLS}CLIENT_CERT_PATH`]: null,
        [`${TLS}CLIENT_KEY_PATH`]: null,
        [`${TLS}SERVER_CA_CERT_DATA_FILE`]: world.certificates.path('ours.pem'),
        [`${TLS}CLIENT_CERT_DATA_FILE`]: world.certificates.path('client.crt'),
        [`${TLS}CLIENT_KEY_DATA_FILE`]: world.certificates.path('client.key'),
      }),
  ],
])('with a certificate, %s: worker, submit and API work through it', async (_how, env) => {
  const before = front.admitted();
  hidesKeys(await useEveryDoor(world, env()));
  expect(front.admitted() - before).toBeGreaterThanOrEqual(3); // each process has its own connection
});

const NO_CERTIFICATE = { [`${TLS}CLIENT_CERT_PATH`]: null, [`${TLS}CLIENT_KEY_PATH`]: null };
const refusals: [string, () => Env, RegExp][] = [
  [
    'without a certificate',
    () => secured(NO_CERTIFICATE),
    /it ended the TLS handshake \(.*certificate ?required.*\)\. Set TEMPORAL_TLS_CLIENT_CERT_PATH/i,
  ],
  [
    'with the authority of another server',
    () => secured({ [`${TLS}SERVER_CA_CERT_PATH`]: world.certificates.path('another.pem') }),
    /its certificate is not trusted \(.*\)\. Set TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
  ],
  [
    'with no authority but those of the system',
    () => secured({ [`${TLS}SERVER_CA_CERT_PATH`]: null }),
    /its certificate is not trusted \(.*\)\. Set TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
  ],
  [
    'by a name that its certificate lacks',
    () => secured({ TEMPORAL_ADDRESS: front.address.replace('127.0.0.1', 'localhost') }),
    /its certificate is not trusted \(.*\)\. .*TEMPORAL_TLS_SERVER_NAME/,
  ],
  [
    'with the key of another certificate',
    () => secured({ [`${TLS}CLIENT_KEY_PATH`]: world.certificates.path('stranger.key') }),
    /the client certificate cannot be used with its key \(.*\)\. Check TEMPORAL_TLS_CLIENT_CERT_/,
  ],
  [
    'with a key that is none',
    () => secured({ [`${TLS}CLIENT_KEY_PATH`]: world.write('no.key', 'nonsense') }),
    /the client certificate cannot be used with its key \(.*\)\. Check TEMPORAL_TLS_CLIENT_CERT_/,
  ],
  [
    'without TLS',
    () => secured({ ...NO_CERTIFICATE, [`${TLS}SERVER_CA_CERT_PATH`]: null }),
    /it takes TLS only \(.*\)\. Set TEMPORAL_TLS=true/,
  ],
  [
    'with TLS, where none is spoken',
    () => secured({ TEMPORAL_ADDRESS: temporalAddress() }),
    /it does not speak TLS \(.*\)\. Check TEMPORAL_ADDRESS/,
  ],
];

test.each(refusals.slice(0, rounds(1, refusals.length)))(
  '%s: worker and API end with code 3 and what to do, without waiting',
  (_how, env, said) => expectRefusedAtOnce(world, env(), said, hidesKeys),
);

test('a submit is accepted all the same, and says why no worker was told', () => {
  const [, env, said] = refusals[0]!;
  return expectAcceptedUntold(world, env(), said, hidesKeys);
});

test('with a certificate of another authority, where the server hangs up: a worker waits as it may', async () => {
  const pair = { cert: world.certificates.path('stranger.crt'), key: world.certificates.path('stranger.key') };
  const env = secured({ [`${TLS}CLIENT_CERT_PATH`]: pair.cert, [`${TLS}CLIENT_KEY_PATH`]: pair.key });
  const { code, text } = await world.command('worker --start-timeout 0ms', env);
  expect(code).toBe(3);
  expect(text).toMatch(/Error: Cannot connect to Temporal at .* if it ends connections, the client certificate/);
  hidesKeys(text);
});
