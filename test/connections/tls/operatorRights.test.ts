import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { KeyFront } from './keyFront';
import { startKeyFront } from './keyFront';
import type { TlsWorld } from './world';
import { createTlsWorld, identityOf, useEveryDoor } from './world';

/** A Temporal as Temporal Cloud is: TLS, an API key, a namespace, and no rights of an operator. */

const KEY = 'key-without-rights-0123456789';
const NAMESPACE = 'no-operator';

let world: TlsWorld;
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
}, 60_000);
afterAll(async () => {
  await world.close();
  await front.stop();
});

test('without the rights of an operator worker, submit and API work, and the log says what to create', async () => {
  const said = await useEveryDoor(world, {
    TEMPORAL_ADDRESS: front.address,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: world.certificates.path('ours.pem'),
    TEMPORAL_API_KEY: KEY,
    TEMPORAL_NAMESPACE: NAMESPACE,
  });
  expect(front.forbidden()).toBeGreaterThan(0);
  expect(said).toContain('the search attribute MusterHandler could not be registered');
  expect(said).toContain(`tcld namespace search-attributes add --namespace ${NAMESPACE}`);
  expect([...front.admitted().keys()].some((method) => method.endsWith('/SignalWithStartWorkflowExecution'))).toBe(
    true,
  );
});
