import { inspect } from 'node:util';
import { connectTemporal } from '../../../client/connectTemporal';
import { temporalAddress } from '../../helpers/database';
import type { KeyFront } from './keyFront';
import { startKeyFront } from './keyFront';
import type { Env, TlsWorld } from './world';
import { createTlsWorld, expectAcceptedUntold, expectRefusedAtOnce, identityOf, useEveryDoor } from './world';

/** A Temporal that is reached over TLS only and demands an API key of every call. @slow */

const KEY = 'key-of-the-test-0123456789';
const WRONG = 'another-key-9876543210';

let world: TlsWorld;
let front: KeyFront;
beforeAll(async () => {
  world = await createTlsWorld();
  front = await startKeyFront(temporalAddress(), identityOf(world.certificates, 'server'), KEY);
}, 60_000);
afterAll(async () => {
  await world.close();
  await front.stop();
});

const secured = (changes: Env = {}): Env => ({
  TEMPORAL_ADDRESS: front.address,
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: world.certificates.path('ours.pem'),
  ...changes,
});
const hidesKeys = (text: string): void => expect(text).not.toMatch(new RegExp(`${KEY}|${WRONG}`));
const calls = (method: string): number =>
  front.admitted().get(`/temporal.api.workflowservice.v1.WorkflowService/${method}`) ?? 0;

test.each([
  ['in a variable', () => ({ TEMPORAL_API_KEY: KEY })],
  ['in a file', () => ({ TEMPORAL_API_KEY_FILE: world.write('key', `${KEY}\n`) })],
])('with the key %s: worker, submit and API work through it, and every call carries it', async (_how, key) => {
  const wakes = calls('SignalWithStartWorkflowExecution');
  const said = await useEveryDoor(world, secured(key()));
  expect(said).not.toContain(KEY);
  expect(front.refused()).toBe(0);
  expect(calls('SignalWithStartWorkflowExecution')).toBeGreaterThan(wakes);
  expect(calls('PollWorkflowTaskQueue')).toBeGreaterThan(0);
  expect(calls('RespondWorkflowTaskCompleted')).toBeGreaterThan(0);
});

test('TLS options of the config file hold beside a key of the environment', async () => {
  world.write(
    'secured.config.ts',
    `import orders from './muster.config';
     import { readFileSync } from 'node:fs';
     const serverRootCACertificate = readFileSync(${JSON.stringify(world.certificates.path('ours.pem'))});
     export default { handlers: orders, temporal: { address: '${front.address}', tls: { serverRootCACertificate } } };`,
  );
  const env = { TEMPORAL_ADDRESS: front.address, TEMPORAL_API_KEY: KEY };
  const worker = world.start('worker --config secured.config.ts', env);
  await worker.says(/"msg":"ready"/);
  worker.child.kill('SIGTERM');
  expect(await worker.exit).toBe(0);
});

const refusals: [string, () => Env, RegExp][] = [
  [
    'another key',
    () => secured({ TEMPORAL_API_KEY: WRONG }),
    /it refused the credentials \(.*Request unauthorized.*\)\. Check TEMPORAL_API_KEY/,
  ],
  ['no key', () => secured(), /it refused the credentials \(.*Request unauthorized.*\)\. Check TEMPORAL_API_KEY/],
  [
    'the key, and no authority but those of the system',
    () => ({ TEMPORAL_ADDRESS: front.address, TEMPORAL_API_KEY: KEY }),
    /its certificate is not trusted \(.*\)\. Set TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
  ],
];

test.each(refusals)('%s: worker and API end with code 3 and what to do, without waiting', (_how, env, said) =>
  expectRefusedAtOnce(world, env(), said, hidesKeys),
);

test('a submit is accepted all the same, and says why no worker was told', () => {
  const [, env, said] = refusals[0]!;
  return expectAcceptedUntold(world, env(), said, hidesKeys);
});

test('a key of two lines is refused as a setting, and not shown', async () => {
  const env = secured({ TEMPORAL_API_KEY: `${KEY}\nx` });
  for (const command of ['worker', 'api --port 0 --open', `submit slow --file ${world.write('a.ndjson', [])}`]) {
    const { code, text } = await world.command(command, env);
    expect([code, text]).toEqual([2, expect.stringMatching(/TEMPORAL_API_KEY: expected one line of printable ASCII/)]);
    expect(text).not.toContain(KEY);
  }
});

test('a program that gives its client such a key is told why, without the key', async () => {
  const serverRootCACertificate = Buffer.from(world.certificates.read('ours.pem'));
  const connection = { apiKey: `${KEY}\nx`, tls: { serverRootCACertificate } };
  const thrown = await connectTemporal({ address: front.address, connection }).then(
    () => null,
    (error: unknown) => error,
  );
  expect(thrown).toMatchObject({
    code: 'TEMPORAL_REFUSED',
    message: expect.stringContaining('Check TEMPORAL_API_KEY'),
  });
  expect(inspect(thrown, { depth: 9 })).not.toContain(KEY);
});
