import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Certificate } from '../../handlers/trials';
import { runCli } from '../cli/process';
import { makeFolder } from '../cli/world';
import { distPath, sourcePath } from '../examples/paths';

/** `muster certify` by the command line: each of our sinks gets its certificate. @slow */

/** The sinks, by the name of a handler: its folder, its factory and its own options. */
const SINKS: Readonly<Record<string, readonly [folder: string, factory: string, options: object]>> = {
  sqs: ['sqs', 'sqsSink', {}],
  'sqs-fifo': ['sqs', 'sqsSink', { fifo: true }],
  'sqs-resend': ['sqs', 'sqsSink', { onUnknown: 'resend' }],
  sns: ['sns', 'snsSink', {}],
  'sns-fifo': ['sns', 'snsSink', { fifo: true }],
  kinesis: ['kinesis', 'kinesisSink', {}],
  firehose: ['firehose', 'firehoseSink', {}],
  eventbridge: ['eventbridge', 'eventbridgeSink', {}],
  dynamodb: ['dynamodb', 'dynamodbSink', { keyAttributes: ['pk', 'sk'] }],
  opensearch: ['opensearch', 'opensearchSink', { url: 'http://nowhere' }],
  postgres: [
    'postgres',
    'postgresSink',
    { connectionString: 'postgres://nowhere/db', table: 'shop.orders', idColumn: 'id', columns: ['note'] },
  ],
  'openai-batch': ['openai-batch', 'openaiBatchSink', { apiKey: 'secret' }],
  'anthropic-batch': ['anthropic-batch', 'anthropicBatchSink', { apiKey: 'secret' }],
};
/** The grade of each sink that the documentation names, by the name of the handler. */
const GRADES = new Map(
  [...readFileSync(sourcePath('docs/sinks.md'), 'utf8').matchAll(/^\| `([\w-]+)`( FIFO)? +\| (\d+\/\d+) /gm)].map(
    ([, sink, fifo, grade]) => [`${sink}${fifo === undefined ? '' : '-fifo'}`, grade],
  ),
);
/** Fewest cases of a certificate, as the documentation promises. */
const FEWEST = 40;

const line = ([name, [folder, factory, options]]: [string, readonly [string, string, object]]): string => {
  const module = JSON.stringify(distPath(`handlers/sinks/${folder}/index.js`));
  return `require(${module}).${factory}(${JSON.stringify({ name, ...options })})`;
};
const CONFIG = `const { defineHandler, LaterError } = require(${JSON.stringify(distPath('handlers/index.js'))});
const { jsonWire } = require(${JSON.stringify(distPath('handlers/trials/index.js'))});
const make = (trial) => defineHandler({
  name: trial === undefined ? 'bare' : 'wrong', target: () => 't', limits: { maxItems: 5 }, trial,
  submit: async () => { throw new LaterError('always'); },
});
const trial = () => ({
  at: () => make(trial), payload: (text) => ({ text }), wire: () => jsonWire({ maxItems: 5, answer: () => [] }),
});
module.exports = { handlers: [make(), make(trial), ${Object.entries(SINKS).map(line).join(',\n')}] };`;

let folder: string;
beforeAll(() => {
  folder = makeFolder();
  writeFileSync(path.join(folder, 'muster.config.cjs'), CONFIG);
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => runCli(['certify', 'muster.config.cjs', ...args], { cwd: folder });

test.each(Object.keys(SINKS))(
  'the sink %s passes every case that applies, and they are forty or more',
  async (name) => {
    const ended = await run(name, '--json');
    const { cases, ...grade } = ended.json<Certificate>();
    expect(cases.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(grade).toMatchObject({ handler: name, certified: true, passed: grade.run });
    expect(grade.run).toBeGreaterThanOrEqual(FEWEST);
    expect(ended.code).toBe(0);
    if (name !== 'sqs-resend') expect(GRADES.get(name)).toBe(`${grade.passed}/${grade.run}`);
  },
);

test('a handler that fails cases is not certified: exit code 1, and each of them with its reason', async () => {
  const ended = await run('wrong');
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/^failed {2}every item is applied: expected every task to end succeeded, got open/m);
  expect(ended.stdout).toMatch(/^wrong: \d+\/\d+, not certified/m);
});

test('a handler without a trial, and one that is not there, are bad input: exit code 2', async () => {
  const [bare, missing] = await Promise.all([run('bare'), run('nobody')]);
  expect([bare.code, missing.code]).toEqual([2, 2]);
  expect(bare.stderr).toContain('trial: expected a function that returns a trial, got nothing');
  expect(missing.stderr).toContain('nobody');
});
