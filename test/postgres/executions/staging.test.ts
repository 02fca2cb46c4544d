import { randomUUID } from 'node:crypto';
import { storeExecution } from '../../../client/executions/execute';
import { readExecution } from '../../../postgres/executions/view';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { breaksOff, oneEach } from '../executionStore';

/** A list in several parts whose sender stopped: who may continue it. */

let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase({ max: 4 })));
afterAll(() => database.drop());

test('what continues a staged list asks for the same: anything else is refused, and adds nothing', async () => {
  const { pool } = database;
  const template = { functionId: 'c', method: 'f' };
  const requestId = randomUUID();
  const first = { ...template, config: { concurrency: 2, envVars: { A: 'a', B: 'b' } } };
  const options = { requestId, topic: 't', maxAttempts: 3 };
  await expect(storeExecution(pool, first, breaksOff(11_000, 'gone'), options)).rejects.toThrow('gone');
  const others: [string, typeof first, object][] = [
    ['functionId', { ...first, functionId: 'other' }, {}],
    ['method', { ...first, method: 'other' }, {}],
    ['config', { ...first, config: { ...first.config, concurrency: 3 } }, {}],
    ['topic', first, { topic: 'other' }],
    ['topic, maxAttempts', first, { topic: 'other', maxAttempts: 4 }],
  ];
  for (const [fields, other, more] of others)
    await expect(storeExecution(pool, other, oneEach(11_000), { ...options, ...more })).rejects.toMatchObject({
      code: 'ID_CONFLICT',
      message: expect.stringContaining(`another request has used with another ${fields}. Nothing was accepted.`),
    });
  expect(await readExecution(pool, requestId)).toMatchObject({ state: 2, items: 10_000, ...first });
  const same = { ...first, config: { envVars: { B: 'b', A: 'a' }, concurrency: 2 } };
  expect(await storeExecution(pool, same, oneEach(11_000), options)).toMatchObject({ isNew: true, items: 11_000 });
});
