import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MOST_VALUES, readJson } from '../../../workers/callbacks/body';
import { Tally } from '../tally';

/** Completions that would become hundreds of times their bytes in memory are refused unparsed. */

const tally = new Tally('bodies of completions');
const MAX_BYTES = 16_777_216;
const server = createServer((request, response) => {
  readJson(request, MAX_BYTES, ['results']).then(
    (value) => response.end(`read ${Object.keys(value).length}`),
    (error: Error) => response.end(`${error.name} ${error.message}`),
  );
});
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => void server.close());

const send = async (body: string): Promise<string> => {
  const { port } = server.address() as AddressInfo;
  return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body })).text();
};
const results = (one: string, n: number): string => `{"results":[${`${one},`.repeat(n)}0]}`;

test('a completion with too many values is refused, whatever they are; one of many results is read', async () => {
  for (const one of ['0', '[]', '{}', '""', 'null', '{"a":0}', '[[]]', '{"":{}}']) {
    const answer = await send(results(one, MOST_VALUES));
    const isRefused = /at most \d+ (JSON values and names|bytes)/.test(answer);
    tally.add(`${one} x ${MOST_VALUES}`, isRefused ? null : answer);
  }
  const result = JSON.stringify({ id: 't', status: 'ok', result: { a: 1 } });
  expect(await send(results(result, 100_000))).toBe('read 1');
  tally.expectNoneThrough(8);
});
