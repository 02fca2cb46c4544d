import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { read, ROOT } from '../project';
import { judgeAudit } from './audit';
import { productionPackages } from './lock';

/** `npm run audit`, against registries on this machine: one that audits, and others. @slow */

type Answer = (asked: Record<string, string[]>, response: ServerResponse) => void;

/** Of npm: what an earlier run fetched would change the answers. */
let cache: string;
let registry: Server;
let answer: Answer;
let asked: Record<string, string[]>;
beforeAll(async () => {
  cache = mkdtempSync(path.join(tmpdir(), 'muster-npm-'));
  registry = createServer((request, response) => {
    if (request.method === 'GET') return json(response, packument(decodeURIComponent(request.url!.slice(1))));
    void bodyOf(request).then((body) => answer((asked = body), response));
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await new Promise((resolve) => registry.close(resolve));
  rmSync(cache, { recursive: true });
});

const bodyOf = async (request: IncomingMessage): Promise<Record<string, string[]>> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
  return text.length === 0 ? {} : (JSON.parse(text.toString()) as Record<string, string[]>);
};
const json = (response: ServerResponse, value: object): void => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
};
/** What npm asks of a package that an advisory names: its versions. */
const packument = (name: string): object => {
  const versions = productionPackages().filter((one) => one.name === name);
  return { name, versions: Object.fromEntries(versions.map(({ version }) => [version, { name, version }])) };
};
const port = (): number => (registry.address() as AddressInfo).port;

const audit = (address = `http://127.0.0.1:${port()}`) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const [program = '', ...args] = scripts['audit']!.split(' ');
  const env = { ...process.env, npm_config_registry: address, npm_config_cache: cache };
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(path.join(ROOT, 'node_modules/.bin', program), args, { cwd: ROOT, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
};

test('a registry that knows nothing bad: exit code 0; it is asked about every production package', async () => {
  answer = (_, response) => json(response, {});
  const { code, stdout, stderr } = await audit();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^no known vulnerability in \d+ production packages\n$/);
  const names = productionPackages().map(({ name }) => name);
  expect(names.filter((name) => asked[name] === undefined)).toEqual([]);
  expect(stdout).toContain(` ${new Set(names).size} `);
});

test('a vulnerability of a production package: exit code 1, with its name, severity and title', async () => {
  answer = (_, response) =>
    json(response, {
      pg: [
        { id: 1, url: 'https://example.com/1', title: 'Reads too much', severity: 'high', vulnerable_versions: '*' },
      ],
    });
  const { code, stderr } = await audit();
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Cannot pass \d+ production packages with known vulnerabilities:\n/);
  expect(stderr).toMatch(/\n {2}pg, high: Reads too much[;\n]/);
});

test('a vulnerability of a package that only development needs is none of the product', async () => {
  answer = (_, response) =>
    json(response, {
      jest: [{ id: 2, url: 'https://example.com/2', title: 'Waits', severity: 'high', vulnerable_versions: '*' }],
    });
  expect((await audit()).code).toBe(0);
  expect(asked['jest']).toBeDefined();
});

test('a registry that does not audit: one line, and an exit code that is neither clean nor vulnerable', async () => {
  answer = (_, response) => response.writeHead(405, { allow: 'GET,HEAD' }).end();
  const { code, stdout, stderr } = await audit(`http://user:hidden@127.0.0.1:${port()}`);
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toMatch(
    /^Cannot audit: the registry does not answer audits \(.*405 Method Not Allowed.*\)\. Nothing is known about vulnerabilities\. .*\n$/,
  );
  expect(stderr).not.toMatch(/hidden|127\.0\.0\.1/);
});

test('no registry at all: the same', async () => {
  const { code, stderr } = await audit('http://127.0.0.1:9');
  expect(code).toBe(3);
  expect(stderr).toMatch(/^Cannot audit: .*ECONNREFUSED.*\n$/);
});

test.each(['', 'null', '{}', '<html>', '[]'])('what is no report is not called clean: %s', (stdout) => {
  expect(judgeAudit(stdout).exitCode).toBe(3);
});
