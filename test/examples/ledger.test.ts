import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyEdits, type Edit, type Prices } from '../../examples/ledger/edits';
import { ledgerHandler, type OrderEdit } from '../../examples/ledger/handler';
import type { ExampleProcess } from '../../examples/support/child';
import { reachesStatus } from '../helpers/reachesStatus';
import { expectWhole } from '../helpers/whole';
import { Examples, getJson, until } from './helpers';
import { startWith } from './throughMuster';

/** @slow */

const examples = new Examples();
afterAll(() => examples.stopAll());

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));
const newFile = (): string => {
  folders.push(mkdtempSync(join(tmpdir(), 'muster-ledger-')));
  return join(folders.at(-1)!, 'ledger.ndjson');
};
const start = (...args: string[]): Promise<ExampleProcess> => examples.start('ledger/ledger', args);
const price = (value: number, id = 'e'): Edit => ({ id, key: 'price', set: value });

const post = async (url: string, body: unknown, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return { code: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};
const submit = (ledger: ExampleProcess, service: string, key: string, items: unknown[], callback?: string) =>
  post(`${ledger.url}/services/${service}/batches`, { items, callback }, { 'idempotency-key': key });
const statusOf = async (ledger: ExampleProcess, ...references: unknown[]) => {
  const { body } = await post(`${ledger.url}/status`, { references });
  const statuses = body['statuses'] as Record<string, { status: string; receipts?: unknown }>;
  return references.map((reference) => statuses[String(reference)]!);
};
const lookUp = (ledger: ExampleProcess, key: string) => getJson<{ outcome: string }>(`${ledger.url}/batches/${key}`);
const stateOf = (ledger: ExampleProcess) => getJson<Record<string, Prices>>(`${ledger.url}/state`);
const orderOf = async (ledger: ExampleProcess, service: string) =>
  (await getJson<{ key: string }[]>(`${ledger.url}/order?service=${service}`)).map(({ key }) => key);

describe('the ledger', () => {
  test('accepts, and commits after its delay; status of many in one call', async () => {
    const ledger = await start('--commit-ms', '1500', '--jitter', '0');
    const one = await submit(ledger, 'po-1', 'b1', [price(2.75)]);
    const two = await submit(ledger, 'po-2', 'b2', [price(9)]);
    expect([one.code, one.body['status']]).toEqual([202, 'accepted']);
    expect(await stateOf(ledger)).toEqual({});
    const references = [one.body['reference'], two.body['reference']];
    const [first] = await statusOf(ledger, ...references);
    expect(['pending', 'valid']).toContain(first!.status);
    await until(
      () => statusOf(ledger, ...references),
      (all) => all.every(({ status }) => status === 'committed'),
    );
    expect(await stateOf(ledger)).toEqual({ 'po-1': { price: 2.75 }, 'po-2': { price: 9 } });
    expect(await statusOf(ledger, 'never-given')).toEqual([{ status: 'lost' }]);
  });

  test('a kill loses what was accepted, and nothing of what was applied, refused or its order [C17]', async () => {
    const file = newFile();
    const before = await start('--file', file, '--commit-ms', '20');
    for (const [key, value] of [
      ['b1', 2.75],
      ['b2', 3],
      ['bad', -1],
    ] as const) {
      await submit(before, 'po-17', key, [price(value)]);
      await until(
        () => lookUp(before, key),
        ({ outcome }) => outcome === 'done',
      );
    }
    await before.kill();
    // As if a kill had come in the middle of a write.
    appendFileSync(file, '{"key":"torn","refer');

    const slow = await start('--file', file, '--commit-ms', '60000');
    const lost = await submit(slow, 'po-17', 'b3', [price(3.25)]);
    expect(await lookUp(slow, 'b3')).toMatchObject({ outcome: 'accepted', reference: lost.body['reference'] });
    await slow.kill();

    const after = await start('--file', file, '--commit-ms', '20');
    expect(await statusOf(after, lost.body['reference'])).toEqual([{ status: 'lost' }]);
    expect(await lookUp(after, 'b3')).toEqual({ outcome: 'absent' });
    expect(await lookUp(after, 'torn')).toEqual({ outcome: 'absent' });
    expect(await lookUp(after, 'bad')).toMatchObject({ outcome: 'done', status: 'invalid' });
    expect(await orderOf(after, 'po-17')).toEqual(['b1', 'b2']);
    expect(await stateOf(after)).toEqual({ 'po-17': { price: 3 } });
    await submit(after, 'po-17', 'b3', [price(3.25)]);
    await until(
      () => stateOf(after),
      (state) => state['po-17']?.['price'] === 3.25,
    );
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(4);
  });

  test('a key that comes again has one effect, also after a kill; without dedupe it has two [C28]', async () => {
    const file = newFile();
    const add: Edit = { id: 'e', key: 'price', plus: 1, of: 'price' };
    // Long enough for the second to come before the commit.
    const first = await start('--file', file, '--commit-ms', '1500');
    const one = await submit(first, 'po-1', 'b1', [add]);
    const again = await submit(first, 'po-1', 'b1', [add]);
    expect(again.body).toEqual({ status: 'accepted', reference: one.body['reference'], repeated: true });
    await until(
      () => stateOf(first),
      (state) => state['po-1'] !== undefined,
    );
    await first.kill();
    const second = await start('--file', file, '--commit-ms', '30');
    expect(await submit(second, 'po-1', 'b1', [add])).toMatchObject({ code: 200, body: { status: 'committed' } });
    expect(await stateOf(second)).toEqual({ 'po-1': { price: 1 } });
    await second.kill();
    const blind = await start('--file', file, '--commit-ms', '30', '--no-dedupe');
    await submit(blind, 'po-1', 'b1', [add]);
    await until(
      () => stateOf(blind),
      (state) => state['po-1']?.['price'] === 2,
    );
  });

  test('refuses an invalid batch whole, with a receipt for each item', async () => {
    const ledger = await start('--commit-ms', '10');
    const sent = await submit(ledger, 'po-1', 'b1', [price(5, 'good'), price(-5, 'bad')]);
    const [standing] = await until(
      () => statusOf(ledger, sent.body['reference']),
      ([each]) => each!.status === 'invalid',
    );
    expect(standing!.receipts).toEqual([
      { id: 'good', status: 'failed', error: 'valid, but another item of the batch is not' },
      { id: 'bad', status: 'failed', error: 'price: expected a price from 0 to 1000000, got -5' },
    ]);
    expect(await stateOf(ledger)).toEqual({});
    const unreadable = await submit(ledger, 'po-1', 'b2', [{ id: 'x', key: 'price' }]);
    expect(unreadable).toMatchObject({
      code: 400,
      body: { error: expect.stringContaining('either set, or plus and of') },
    });
  });

  test('answers 429 with Retry-After at its pending limit, for that service alone', async () => {
    const ledger = await start('--commit-ms', '60000', '--pending-limit', '2', '--retry-after-s', '3');
    await submit(ledger, 'po-1', 'b1', [price(1)]);
    await submit(ledger, 'po-1', 'b2', [price(2)]);
    const full = await submit(ledger, 'po-1', 'b3', [price(3)]);
    expect([full.code, full.headers.get('retry-after')]).toEqual([429, '3']);
    expect((await submit(ledger, 'po-2', 'b4', [price(1)])).code).toBe(202);
  });

  test('calls back when a batch has ended', async () => {
    const calls: unknown[] = [];
    const receiver = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => (text += String(chunk)));
      request.on('end', () => {
        calls.push(JSON.parse(text));
        response.end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    try {
      const ledger = await start('--commit-ms', '10');
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/done`;
      const sent = await submit(ledger, 'po-1', 'b1', [price(1)], url);
      await until(
        async () => calls,
        ({ length }) => length === 1,
      );
      const { reference } = sent.body;
      const results = [{ id: 'e', status: 'ok' }];
      expect(calls).toEqual([{ key: 'b1', reference, service: 'po-1', status: 'committed', results }]);
    } finally {
      receiver.closeAllConnections();
      receiver.close();
    }
  });

  test('applies what is pending together in any order, unless it keeps the order: then as it was accepted [C16]', async () => {
    const keys = Array.from({ length: 20 }, (_, at) => `b${at}`);
    const run = async (...args: string[]): Promise<string[]> => {
      const ledger = await start('--commit-ms', '400', '--jitter', '1', ...args);
      for (const [at, key] of keys.entries()) await submit(ledger, 'po-1', key, [price(at)]);
      const order = await until(
        () => orderOf(ledger, 'po-1'),
        ({ length }) => length === keys.length,
      );
      // Its state is what its order says.
      const last = order.reduce<Prices>((prices, key) => applyEdits(prices, [price(keys.indexOf(key))]).prices!, {});
      expect(await stateOf(ledger)).toEqual({ 'po-1': last });
      return order;
    };
    expect(await run('--keep-order')).toEqual(keys);
    expect(await run()).not.toEqual(keys);
  });
});

/** Through the whole of Muster: the ledger applies what it has pending in any order. */
const PRICES = [2.75, 3, 3.25];
const SERVICES = ['po-1', 'po-2', 'po-3', 'po-4', 'po-5', 'po-6'];

test.each(['serial', 'parallel'] as const)(
  '%s: of prices 2.75, 3.00 and 3.25 that were submitted one after the other the last one stands [C16]',
  async (approach) => {
    const ledger = await examples.start('ledger/ledger', ['--commit-ms', '100', '--jitter', '1']);
    const muster = await startWith([ledgerHandler({ url: ledger.url, approach })]);
    try {
      const { client } = muster;
      const batches: number[] = [];
      for (const set of PRICES)
        for (const service of SERVICES) {
          const payload: OrderEdit = { service, edit: { id: `${service} at ${set}`, key: 'price', set } };
          const { batch } = await client.submitBatch('ledger', service, [{ id: payload.edit.id, payload }]);
          batches.push(batch);
        }
      for (const batch of batches) await reachesStatus(client, batch, 'committed');
      const state = await getJson<Record<string, Prices>>(`${ledger.url}/state`);
      expect(state).toEqual(Object.fromEntries(SERVICES.map((service) => [service, { price: 3.25 }])));
      for (const [i, service] of SERVICES.entries()) {
        const order = await getJson<{ key: string }[]>(`${ledger.url}/order?service=${service}`);
        const submitted = PRICES.map((_, round) => String(batches[round * SERVICES.length + i]));
        expect(order.map(({ key }) => key.split('-').at(-2))).toEqual(submitted);
      }
      await expectWhole(client);
    } finally {
      await muster.stop();
    }
  },
);
