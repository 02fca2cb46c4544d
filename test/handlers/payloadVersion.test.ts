import { z } from 'zod';
import { defineContract, httpHandler } from '../../handlers';
import { shownVersion, storedVersionOf, upcastJson, versionOf } from '../../handlers/contracts/payloadVersion';

const base = { name: 'orders', limits: { maxItems: 1 }, target: () => 'x' };
const of = (upcast?: (payload: unknown, from: number) => never) =>
  defineContract({ ...base, payloadVersion: 3, schema: z.object({ n: z.number() }), ...(upcast && { upcast }) });

test('a version stands in the store from the second one on, and in views where it is not the one of now', () => {
  expect([storedVersionOf(defineContract(base)), storedVersionOf(of())]).toEqual([null, 3]);
  expect(shownVersion(undefined, null)).toEqual({});
  expect(shownVersion(undefined, 2)).toEqual({ payloadVersion: 2 });
  expect(shownVersion(of(), null)).toEqual({ payloadVersion: 1 });
  expect(shownVersion(of(), 3)).toEqual({});
});

test('a contract of a copy of this package that knows no versions has the first one', () => {
  const before: { name: string; payloadVersion?: number } = { ...defineContract(base) };
  delete before.payloadVersion;
  expect([versionOf(before), storedVersionOf(before)]).toEqual([1, null]);
});

test('a handler in JSON stores its version, and refuses payloads of older ones', () => {
  const json = { kind: 'http', name: 'json', target: { constant: 'x' }, limits: { maxItems: 1 }, payloadVersion: 4 };
  const request = { url: 'http://localhost/', method: 'POST', item: '{{payload}}' };
  const handler = httpHandler({ ...json, request, response: { perItem: false } });
  expect(handler.payloadVersion).toBe(4);
  expect(() => upcastJson(handler, '{}', 2)).toThrow(
    'expected version 4 of the payloads of handler "json", got 2, and it has no upcast. ' +
      'Give it upcast(payload, fromVersion), then redrive the task',
  );
});

test.each<[string, (payload: unknown, from: number) => unknown, string]>([
  ['throws', () => JSON.parse('{') as unknown, 'SyntaxError'],
  ['answers what the schema refuses', () => ({ n: 'x' }), 'payload.n: '],
  ['answers with a promise', () => Promise.reject(new Error('late')), 'it answered with a promise'],
  ['answers with nothing', () => undefined, 'payload: '],
])('an upcast that %s is an error that names the versions', (_, upcast, why) => {
  const work = () => upcastJson(of(upcast as never), '{}', 2);
  expect(work).toThrow(`the upcast of handler "orders" from version 2 to 3 failed: ${why}`);
  expect(work).toThrow('Mend it, then redrive the task');
});

test('what cannot be JSON is refused also where there is no schema', () => {
  const contract = defineContract({ ...base, payloadVersion: 2, upcast: () => undefined });
  expect(() => upcastJson(contract, '{}', 1)).toThrow('expected JSON, got nothing');
});
