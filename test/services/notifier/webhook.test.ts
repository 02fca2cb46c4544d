import { Webhook } from 'standardwebhooks';
import { allowedAddresses, isPublic } from '../../../activities/callbacks/addresses';
import type { Resolved } from '../../../activities/callbacks/addresses';
import type { CallbackPolicy } from '../../../activities/deps';
import { sendWebhook } from '../../../activities/callbacks/webhook';
import type { Delivery } from '../../../activities/callbacks/webhook';
import type { Receiver } from './receiver';
import { SECRET, startReceiver } from './receiver';

type Receivers = NonNullable<CallbackPolicy['receivers']>;
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const send = (
  url: string,
  options: {
    allow?: string[];
    secret?: string | readonly string[] | null;
    receivers?: Receivers;
    resolve?: () => Promise<Resolved[]>;
    timeoutMs?: number;
    signal?: AbortSignal;
  } = {},
): Promise<Delivery> => {
  const {
    allow = ['127.0.0.1:*'],
    secret = SECRET,
    receivers = [],
    signal = new AbortController().signal,
    ...rest
  } = options;
  return sendWebhook(
    { allow, secret, receivers },
    { id: 'msg_1', url, body: '{"type":"tasks.ended"}' },
    { signal, ...rest },
  );
};

test('signed after Standard Webhooks: the reference verifier accepts it, and no other body or secret', async () => {
  expect(await send(`${receiver.url}/hook?a=1`)).toEqual({ kind: 'delivered' });
  const [{ method, path, body, headers }] = receiver.received as [Receiver['received'][0]];
  expect({ method, path, type: headers['content-type'], id: headers['webhook-id'] }).toEqual({
    method: 'POST',
    path: '/hook?a=1',
    type: 'application/json',
    id: 'msg_1',
  });
  const signed = headers as Record<string, string>;
  expect(new Webhook(SECRET).verify(body, signed)).toEqual({ type: 'tasks.ended' });
  expect(() => new Webhook(SECRET).verify(`${body} `, signed)).toThrow();
  expect(() => new Webhook('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA').verify(body, signed)).toThrow();
});

describe('several secrets', () => {
  const other = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const third = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  const knows = (secret: string): boolean => {
    const { body, headers } = receiver.received.at(-1)!;
    try {
      new Webhook(secret).verify(body, headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };

  test('while a secret is replaced, receivers with the new and with the old one both accept', async () => {
    await send(`${receiver.url}/`, { secret: [other, SECRET] });
    expect([knows(other), knows(SECRET), knows(third)]).toEqual([true, true, false]);
    expect(receiver.received[0]!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    await send(`${receiver.url}/`, { secret: [other] });
    expect([knows(other), knows(SECRET)]).toEqual([true, false]);
  });

  test('a receiver with a separate secret gets none that others know, and needs no other entry', async () => {
    const allow = `127.0.0.1:${receiver.port}`;
    await send(`${receiver.url}/`, { allow: ['127.0.0.1:*'], receivers: [{ allow, secret: [third] }] });
    expect([knows(third), knows(SECRET)]).toEqual([true, false]);
    expect(await send(`${receiver.url}/`, { allow: [], secret: null, receivers: [{ allow, secret: third }] })).toEqual({
      kind: 'delivered',
    });
    const elsewhere = [{ allow: '127.0.0.1:1', secret: third }];
    await send(`${receiver.url}/`, { receivers: elsewhere });
    expect([knows(third), knows(SECRET)]).toEqual([false, true]);
    expect(await send(`${receiver.url}/`, { allow: [], receivers: elsewhere })).toMatchObject({ kind: 'given-up' });
  });
});

describe('what the answer means', () => {
  const cases: [number, Record<string, string>, Delivery][] = [
    [200, {}, { kind: 'delivered' }],
    [202, {}, { kind: 'delivered' }],
    [410, {}, { kind: 'given-up', error: 'answered 410: it wants no more callbacks' }],
    [400, {}, { kind: 'retry', error: 'answered 400' }],
    [503, { 'retry-after': '7' }, { kind: 'retry', error: 'answered 503', afterMs: 7_000 }],
  ];
  test.each(cases)('%i', async (status, headers, delivery) => {
    receiver.answer = (response) => void response.writeHead(status, headers).end('text');
    expect(await send(receiver.url)).toEqual(delivery);
  });

  test('a redirect is not followed, not even to an allowed host', async () => {
    receiver.answer = (response, n) =>
      void (
        n === 1 ? response.writeHead(307, { location: `${receiver.url}/elsewhere` }) : response.writeHead(200)
      ).end();
    expect(await send(receiver.url)).toEqual({ kind: 'retry', error: 'answered 307: redirects are not followed' });
    expect(receiver.received).toHaveLength(1);
  });

  test('a body without an end costs neither memory nor the delivery', async () => {
    receiver.answer = (response) => {
      response.writeHead(200);
      const more = (): void =>
        void (
          response.destroyed || (response.write('x'.repeat(65_536)) ? setImmediate(more) : response.once('drain', more))
        );
      more();
    };
    expect(await send(receiver.url)).toEqual({ kind: 'delivered' });
  });

  test('no answer in time, nobody there, a broken connection: again later, and the host counts as down', async () => {
    receiver.answer = () => undefined;
    const silent = await send(receiver.url, { timeoutMs: 200 });
    expect(silent).toMatchObject({
      kind: 'retry',
      unreachable: true,
      error: expect.stringContaining('no end within 200 ms'),
    });
    receiver.answer = (response) => void response.destroy();
    expect(await send(receiver.url)).toMatchObject({ kind: 'retry', unreachable: true });
    const other = await startReceiver();
    await other.close();
    expect(await send(other.url)).toMatchObject({
      kind: 'retry',
      unreachable: true,
      error: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('callbacks.allow', () => {
  test('empty by default: nothing goes out, and the error names the host and the remedy', async () => {
    const delivery = await send(receiver.url, { allow: [] });
    expect(delivery).toMatchObject({
      kind: 'given-up',
      error: expect.stringMatching(/host 127\.0\.0\.1:\d+: not in callbacks\.allow \(empty\)/),
    });
    expect(receiver.received).toHaveLength(0);
  });

  test('without a secret nothing goes out', async () => {
    expect(await send(receiver.url, { secret: null })).toMatchObject({
      kind: 'given-up',
      error: expect.stringContaining('callbacks.secret'),
    });
    expect(receiver.received).toHaveLength(0);
  });

  test('plain http to an allowed host is refused, with the remedy', async () => {
    expect(await send('http://hooks.example.com/', { allow: ['hooks.example.com'] })).toEqual({
      kind: 'given-up',
      error:
        'url: expected https for the host hooks.example.com, got http. ' +
        'To allow it, write http://hooks.example.com in callbacks.allow.',
    });
  });

  test.each(['ftp://127.0.0.1/', 'http://user:pw@127.0.0.1/', 'http://user@127.0.0.1/', 'nowhere'])(
    '%s is refused',
    async (url) => {
      expect(await send(url)).toMatchObject({ kind: 'given-up', error: expect.stringMatching(/^url: expected/) });
    },
  );
});

describe('private addresses', () => {
  test.each([
    ['127.0.0.1', false],
    ['10.1.2.3', false],
    ['172.31.0.1', false],
    ['192.168.1.1', false],
    ['169.254.169.254', false],
    ['100.64.0.1', false],
    ['0.0.0.0', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['::1', false],
    ['::', false],
    ['fe80::1', false],
    ['fd00::1', false],
    ['::ffff:10.0.0.1', false],
    ['::ffff:7f00:1', false],
    ['64:ff9b::7f00:1', false],
    ['2002:7f00:1::', false],
    ['2001:db8::1', false],
    ['ff02::1', false],
    ['8.8.8.8', true],
    ['172.32.0.1', true],
    ['2606:4700:4700::1111', true],
    ['not an address', false],
  ])('%s is public: %s', (address, expected) => {
    expect(isPublic(address)).toBe(expected);
  });

  const at =
    (...addresses: string[]) =>
    async (): Promise<Resolved[]> =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

  test('an allowed name that resolves to a private address leads nowhere, unless the address is named too', async () => {
    const url = `http://hooks.example.com:${receiver.port}/`;
    const refused = await send(url, { allow: ['http://hooks.example.com:*'], resolve: at('127.0.0.1') });
    expect(refused).toMatchObject({
      kind: 'given-up',
      error: expect.stringMatching(/resolves to 127\.0\.0\.1, which is not a public address.*callbacks\.allow/),
    });
    expect(receiver.received).toHaveLength(0);
    expect(await send(url, { allow: ['http://hooks.example.com:*', '127.0.0.1'], resolve: at('127.0.0.1') })).toEqual({
      kind: 'delivered',
    });
    expect(receiver.received[0]!.headers.host).toBe(`hooks.example.com:${receiver.port}`);
  });

  test('an address that is named with a port: that port alone, whatever the name may have', async () => {
    const { port } = receiver;
    const to = (...allow: string[]): Promise<Delivery> =>
      send(`http://hooks.example.com:${port}/`, {
        allow: ['http://hooks.example.com:*', ...allow],
        resolve: at('127.0.0.1'),
      });
    for (const entry of ['127.0.0.1:1', 'http://127.0.0.1:1', `https://127.0.0.1:${port}`])
      expect([entry, await to(entry)]).toEqual([entry, expect.objectContaining({ kind: 'given-up' })]);
    expect(receiver.received).toHaveLength(0);
    for (const entry of [`127.0.0.1:${port}`, `http://127.0.0.1:${port}`, '127.0.0.1:*', '127.0.0.1'])
      expect([entry, await to('127.0.0.1:1', entry)]).toEqual([entry, { kind: 'delivered' }]);
  });

  test('no rebinding: it connects to the address that was checked, though the name resolves to another one a moment later', async () => {
    let lookups = 0;
    const resolve = async (): Promise<Resolved[]> => at(++lookups === 1 ? '127.0.0.1' : '127.9.9.9')();
    expect(
      await send(`http://hooks.example.com:${receiver.port}/`, {
        allow: ['http://hooks.example.com:*', '127.0.0.1'],
        resolve,
      }),
    ).toEqual({ kind: 'delivered' });
    expect(lookups).toBe(1);
  });

  test('of several addresses only those that may be connected to are left', () => {
    const addresses = ['10.0.0.1', '8.8.8.8', '::1', '2606:4700::1', 'fd00::7'].map((address) => ({
      address,
      family: 4 as const,
    }));
    const left = (allow: string[]): string[] =>
      allowedAddresses(allow, new URL('https://hooks.example.com/'), addresses).map(({ address }) => address);
    expect(left(['hooks.example.com'])).toEqual(['8.8.8.8', '2606:4700::1']);
    expect(left(['hooks.example.com', '10.0.0.1', '[fd00::7]'])).toEqual([
      '10.0.0.1',
      '8.8.8.8',
      '2606:4700::1',
      'fd00::7',
    ]);
  });

  test('localhost, named itself, is the loopback; another name that resolves there is not', async () => {
    expect(
      await send(`http://localhost:${receiver.port}/`, { allow: ['localhost:*'], resolve: at('127.0.0.1') }),
    ).toEqual({ kind: 'delivered' });
    expect(
      await send(`http://localhost:${receiver.port}/`, { allow: ['localhost:*'], resolve: at('10.0.0.1') }),
    ).toMatchObject({ kind: 'given-up' });
  });

  test('an unresolvable name is tried again later', async () => {
    const resolve = async (): Promise<Resolved[]> =>
      Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    expect(await send('https://gone.example.com/', { allow: ['gone.example.com'], resolve })).toMatchObject({
      kind: 'retry',
      unreachable: true,
    });
  });
});
