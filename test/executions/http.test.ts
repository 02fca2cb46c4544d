import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ModuleProcesses, makeExecutor, servedFunctions } from '../../activities/executions/executors';
import type { RunOutcome } from '../../activities/executions/executors';
import { httpExecutor } from '../../activities/executions/executors/http';
import { SILENT_LOG } from '../../handlers/logging/boundLog';

let server: Server;
let port: number;
const seen: { method: string; url: string; body: string; headers: IncomingHttpHeaders }[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += String(part)));
    request.on('end', () => {
      seen.push({ method: request.method!, url: request.url!, body, headers: request.headers });
      const status = Number(/^\/(\d+)/.exec(request.url!)?.[1] ?? 200);
      if (status === 302) response.setHeader('location', '/200');
      response.writeHead(status).end(request.url === '/large' ? 'x'.repeat(10_000) : `hello ${body}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());
beforeEach(() => void seen.splice(0));

const run = async (args: string[], method = 'GET', httpAllow = ['127.0.0.1:*', 'localhost:*']): Promise<RunOutcome> => {
  const source = { functions: new Map(), functionStore: null, memoryBytes: 65_536, httpAllow };
  const limits = { stdoutBytes: 100, stderrBytes: 100 };
  const executor = await makeExecutor(
    source,
    new ModuleProcesses(),
    {
      functionId: 'http',
      method,
      concurrency: 1,
      limits,
    },
    SILENT_LOG,
  );
  const signal = AbortSignal.timeout(5_000);
  const outcome = await executor.run(args, { method, env: {}, position: 3, executionId: 'e-1', signal });
  await executor.close();
  return outcome;
};
const url = (path: string): string => `http://127.0.0.1:${port}${path}`;

describe('an HTTP call per item', () => {
  test('the body of a 2xx answer is standard output, exit code 0; with it goes an idempotency key', async () => {
    expect(await run([url('/one?x=1')])).toMatchObject({ exitCode: 0, stdout: 'hello ', stderr: '' });
    expect(await run([url('/two'), 'text', 'X-Kind: one'], 'post')).toMatchObject({
      exitCode: 0,
      stdout: 'hello text',
    });
    expect(seen.map((one) => [one.method, one.url, one.body])).toEqual([
      ['GET', '/one?x=1', ''],
      ['POST', '/two', 'text'],
    ]);
    expect(seen[1]!.headers).toMatchObject({ 'idempotency-key': 'e-1/3', 'x-kind': 'one' });
  });
  test.each([404, 500, 302])('%i is its exit code; a redirect is not followed', async (status) => {
    expect(await run([url(`/${status}`)])).toMatchObject({
      exitCode: status,
      stderr: `HTTP ${status}`,
      metadata: { status: String(status) },
    });
    expect(seen).toHaveLength(1);
  });
  test('what is not allowed is not called', async () => {
    expect(await run([url('/')], 'GET', ['example.com'])).toMatchObject({
      exitCode: null,
      nodeError: expect.stringContaining(`the host 127.0.0.1:${port} is not allowed here`),
    });
    expect(await run([`http://localhost:${port}/`], 'GET', ['localhost:*'])).toMatchObject({ exitCode: 0 });
    expect(seen).toHaveLength(1);
    expect(await run([url('/')], 'GET', [])).toMatchObject({
      nodeError: expect.stringContaining('the config of this node allows no host'),
    });
    expect(await servedFunctions({ functions: new Map(), functionStore: null, memoryBytes: 1, httpAllow: [] })).toEqual(
      [],
    );
  });
  test.each([
    'Host: 127.0.0.1',
    'HOST: internal',
    'host : internal',
    'Content-Length: 5',
    'Transfer-Encoding: chunked',
    'Connection: close, x-kind',
    'Keep-Alive: timeout=5',
    'TE: trailers',
    'Trailer: x-kind',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
    'Proxy-Authorization: Basic eDp5',
    'Proxy-Connection: keep-alive',
    'Proxy-Anything: x',
    'Expect: 100-continue',
  ])('%s is the transport’s to write: the item fails, and nothing is sent', async (header) => {
    expect(await run([url('/'), '', 'x-kind: one', header])).toMatchObject({
      exitCode: null,
      nodeError: expect.stringContaining('arguments[3]: expected no header that the transport writes'),
    });
    expect(seen).toEqual([]);
  });
  test.each(['no colon', ': nameless', 'two words: x', 'x-kind: a\r\nhost: b', 'x-kind: a\u2028b', 'x\0: 1'])(
    '%j is no header',
    async (header) => {
      expect(await run([url('/'), '', header])).toMatchObject({
        nodeError: expect.stringContaining('arguments[2]: expected a header of the form'),
      });
      expect(seen).toEqual([]);
    },
  );
  test('an idempotency key of a caller does not take the place of ours, in whatever spelling', async () => {
    await run([url('/'), '', 'Idempotency-Key: theirs', 'IDEMPOTENCY-KEY: theirs'], 'POST');
    expect(seen[0]!.headers['idempotency-key']).toBe('e-1/3');
  });
  test('hosts with ports: the default port where none is named, that port, or every one', async () => {
    expect(await run([url('/')], 'GET', ['127.0.0.1'])).toMatchObject({
      nodeError: expect.stringContaining('is not allowed here'),
    });
    expect(await run([url('/')], 'GET', [`127.0.0.1:${port}`])).toMatchObject({ exitCode: 0 });
    expect(await run([url('/')], 'GET', [`127.0.0.1:${port + 1}`])).toMatchObject({ exitCode: null });
    expect(await run([url('/')], 'GET', [`https://127.0.0.1:${port}`])).toMatchObject({ exitCode: null });
    expect(await run([url('/').replace('http://', 'http://user:pw@')], 'GET', ['127.0.0.1:*'])).toMatchObject({
      nodeError: expect.stringContaining('without user and password'),
    });
  });
  test('a name that resolves to an address of ours: only to the ports for which the list names it', async () => {
    const call = async (...httpAllow: string[]): Promise<RunOutcome> => {
      const limits = { stdoutBytes: 100, stderrBytes: 100 };
      const make = { functionId: 'http', method: 'GET', concurrency: 1, limits };
      const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 as const }]);
      const executor = httpExecutor(['partner.example:*', ...httpAllow], make, resolve);
      const given = { method: 'GET', env: {}, position: 3, executionId: 'e-1', signal: AbortSignal.timeout(5_000) };
      const other = await executor.run(['http://partner.example:1/'], given);
      expect(other.exitCode).toBe(1); // what one port may says nothing about the next
      const outcome = await executor.run([`http://partner.example:${port}/`], given);
      await executor.close();
      return outcome;
    };
    for (const entry of ['127.0.0.1:1', `https://127.0.0.1:${port}`])
      expect(await call(entry)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining(`partner.example:${port} resolves to no address that is allowed here`),
      });
    expect(seen).toEqual([]);
    for (const entry of ['127.0.0.1', '127.0.0.1:*', `127.0.0.1:${port}`])
      expect(await call(entry)).toMatchObject({ exitCode: 0 });
    expect(seen[0]!.headers.host).toBe(`partner.example:${port}`);
  });
  test('what is no URL, and no verb, is said', async () => {
    expect(await run([])).toMatchObject({ nodeError: 'arguments[0]: expected an http or https URL, got nothing' });
    expect(await run(['file:///etc/passwd'])).toMatchObject({ nodeError: expect.stringContaining('arguments[0]') });
    expect(await run([url('/')], 'BREW')).toMatchObject({
      nodeError: expect.stringContaining('method: expected one of GET'),
    });
    expect(await run(['http://127.0.0.1:1/'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('ECONNREFUSED'),
    });
  });
  test('a large answer is kept up to the limit, and counted', async () => {
    const outcome = await run([url('/large')]);
    expect(outcome.stdoutBytes).toBe(10_000);
  });
});
