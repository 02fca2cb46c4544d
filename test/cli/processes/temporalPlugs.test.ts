import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import { loadSettings } from '../../../workers/config/config';
import { nodeOptions } from '../../../workers/process';
import { startWorker } from '../../../workers/worker';
import { makeFolder } from '../world';

/** What the config file may plug into Temporal: every wrong field is named. */

let cwd: string;
beforeEach(() => {
  cwd = makeFolder();
});
afterEach(() => rmSync(cwd, { recursive: true }));

const handler = `{ name: 'a', target: () => 'x', limits: { maxItems: 5 }, submit: async () => ({ results: [] }) }`;
const config = (temporal: string): void =>
  writeFileSync(
    path.join(cwd, 'muster.config.ts'),
    `import { defineHandler } from 'temporal-muster';\n` +
      `export default [defineHandler(${handler})];\nexport const temporal = ${temporal};\n`,
  );
const load = () => loadSettings({}, {}, { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: cwd } });

test.each([
  ['5', /muster\.config\.ts, temporal: expected an object, got 5/],
  ["{ dataConverter: 'x' }", /temporal\.dataConverter: expected an object, got "x"/],
  ['{ dataConverter: { payloadCodec: [] } }', /temporal\.dataConverter\.payloadCodec: unknown setting.*payloadCodecs/],
  ['{ dataconverter: {} }', /temporal\.dataconverter: unknown setting.*dataConverter/],
  [
    '{ dataConverter: { payloadCodecs: {} } }',
    /temporal\.dataConverter\.payloadCodecs: expected a list of codecs, got \{\}/,
  ],
  [
    '{ dataConverter: { payloadCodecs: [{ encode() {} }] } }',
    /temporal\.dataConverter\.payloadCodecs\.0: expected a codec: an object with the methods encode and decode, got/,
  ],
  [
    "{ dataConverter: { payloadConverterPath: './nowhere.cjs' } }",
    /temporal\.dataConverter\.payloadConverterPath: expected the path of a JavaScript module that exports payloadConverter, .*got "\.\/nowhere\.cjs", which cannot be loaded: Cannot find module/,
  ],
  [
    "{ dataConverter: { payloadConverterPath: './empty.cjs' } }",
    /payloadConverterPath: expected the path of a JavaScript module that exports payloadConverter, an object with the methods toPayload and fromPayload, got "\.\/empty\.cjs"/,
  ],
  [
    '{ dataConverter: { failureConverterPath: 5 } }',
    /failureConverterPath: expected the path of a JavaScript module that exports failureConverter, .*got 5/,
  ],
  ["{ dashboardUrl: 'muster.example.com' }", /temporal\.dashboardUrl: expected an http or https URL, got "muster/],
  ['{ interceptors: [] }', /temporal\.interceptors: expected an object, got \[\]/],
  ['{ interceptors: { clients: {} } }', /temporal\.interceptors\.clients: unknown setting.*client/],
  [
    '{ interceptors: { activity: [5] } }',
    /temporal\.interceptors\.activity\.0: expected a function that makes the interceptors of an activity, got 5/,
  ],
  [
    '{ interceptors: { client: { workflow: 5 } } }',
    /temporal\.interceptors\.client\.workflow: expected a list of interceptors of a workflow client, got 5/,
  ],
  [
    "{ interceptors: { workflowModules: ['./nowhere'] } }",
    /temporal\.interceptors\.workflowModules\.0: expected the path of a module that exports interceptors, got "\.\/nowhere"/,
  ],
])('temporal: %s', async (temporal, message) => {
  writeFileSync(path.join(cwd, 'empty.cjs'), '');
  config(temporal);
  await expect(load()).rejects.toThrow(message);
});

test('what is right is taken: paths from the folder of the config file, codecs and interceptors as they are', async () => {
  writeFileSync(path.join(cwd, 'converter.cjs'), 'exports.payloadConverter = { toPayload() {}, fromPayload() {} };');
  writeFileSync(path.join(cwd, 'interceptors.ts'), 'export const interceptors = () => ({});');
  config(`{
    address: 'there:7233',
    dashboardUrl: 'https://muster.example.com',
    dataConverter: { payloadConverterPath: './converter.cjs', payloadCodecs: [{ encode: (p) => p, decode: (p) => p }] },
    interceptors: { client: { workflow: [{}] }, activity: [() => ({})], workflowModules: ['./interceptors'] },
  }`);
  const settings = await load();
  const { temporal } = settings;
  const own = { log: pino({ level: 'silent' }), signal: new AbortController().signal };
  expect(nodeOptions(settings, own).dashboardUrl).toBe(temporal.dashboardUrl);
  expect(temporal).toMatchObject({
    address: 'there:7233',
    dashboardUrl: 'https://muster.example.com',
    dataConverter: {
      payloadConverterPath: path.join(cwd, 'converter.cjs'),
      payloadCodecs: [{ encode: expect.any(Function), decode: expect.any(Function) }],
    },
    interceptors: {
      client: { workflow: [{}] },
      activity: [expect.any(Function)],
      workflowModules: [path.join(cwd, 'interceptors.ts')],
    },
  });
});

test('startWorker of temporal-muster/worker names every wrong option at once', async () => {
  const wrong = { databaseUrl: 'x', temporal: { dataConverter: 'x' }, graceMs: 1, handlers: [5], api: {} };
  const error = await startWorker(wrong as never).catch((caught: unknown) => caught);
  expect((error as { problems: { path: string }[] }).problems.map(({ path: at }) => at)).toEqual(
    expect.arrayContaining([
      'databaseUrl',
      'temporal.dataConverter',
      'graceMs',
      'api',
      expect.stringMatching(/^handlers/),
    ]),
  );
});
