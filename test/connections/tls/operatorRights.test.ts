import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import type { Check } from '../../../workers/doctor/check';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { KeyFront } from './keyFront';
import { startKeyFront } from './keyFront';
import type { Env, TlsWorld } from './world';
import { createTlsWorld, identityOf, useEveryDoor } from './world';

/**
 * A Temporal as Temporal Cloud is: TLS, an API key, a namespace, and no rights of an operator.
 *
 * @slow
 */

const KEY = 'key-without-rights-0123456789';
const NAMESPACE = 'no-operator';

let world: TlsWorld;
let env: Env;
let front: KeyFront;
beforeAll(async () => {
  world = await createTlsWorld();
  const forbids = (method: string): boolean => !method.startsWith('/temporal.api.workflowservice.v1.');
  front = await startKeyFront(temporalAddress(), identityOf(world.certificates, 'server'), KEY, forbids);
  const connection = await Connection.connect({ address: temporalAddress() });
  await connection.workflowService.registerNamespace({
    namespace: NAMESPACE,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  await eventually(async () => {
    const found = await connection.workflowService.describeNamespace({ namespace: NAMESPACE }).catch(() => null);
    return found !== null;
  });
  await connection.close();
  env = {
    TEMPORAL_ADDRESS: front.address,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: world.certificates.path('ours.pem'),
    TEMPORAL_API_KEY: KEY,
    TEMPORAL_NAMESPACE: NAMESPACE,
  };
}, 60_000);
afterAll(async () => {
  await world.close();
  await front.stop();
});

test('without the rights of an operator worker, submit and API work, and the log says what to create', async () => {
  const said = await useEveryDoor(world, env);
  expect(front.forbidden()).toBeGreaterThan(0);
  expect(said).toContain('the search attribute MusterHandler could not be registered');
  expect(said).toContain(`tcld namespace search-attributes add --namespace ${NAMESPACE}`);
  expect([...front.admitted().keys()].some((method) => method.endsWith('/SignalWithStartWorkflowExecution'))).toBe(
    true,
  );
});

/** What the doctor says of the search attribute. */
const attribute = async (): Promise<Check> => {
  const { code, text } = await world.command('doctor --json', env);
  expect(code).toBe(0);
  const { checks } = JSON.parse(text) as { checks: Check[] };
  return checks.find(({ name }) => name === 'search attribute')!;
};

test('the doctor sees the search attribute without these rights: missing, and made by an operator', async () => {
  expect(await attribute()).toMatchObject({ state: 'warning', says: expect.stringContaining('not registered') });
  const connection = await Connection.connect({ address: temporalAddress() });
  await connection.operatorService.addSearchAttributes({
    namespace: NAMESPACE,
    searchAttributes: { MusterHandler: 2 /* keyword */ },
  });
  await connection.close();
  await eventually(async () => (await attribute()).state === 'ok');
});
