import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadSettings } from '../../workers/config/config';
import { makeFolder } from '../cli/world';

/** Where the dashboard links to, as the config file has it. */

let cwd: string;
beforeEach(() => {
  cwd = makeFolder();
});
afterEach(() => rmSync(cwd, { recursive: true }));

const handler = `{ name: 'a', target: () => 'x', limits: { maxItems: 5 }, submit: async () => ({ results: [] }) }`;
const load = (traceUrl: string) => {
  writeFileSync(
    path.join(cwd, 'muster.config.ts'),
    `import { defineHandler } from 'temporal-muster';\n` +
      `export default { handlers: [defineHandler(${handler})], api: { traceUrl: ${JSON.stringify(traceUrl)} } };\n`,
  );
  return loadSettings({}, {}, { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: cwd } });
};

test('the address of a trace is read as it stands', async () => {
  const { api } = await load('https://jaeger.example.com/trace/{traceId}');
  expect(api.traceUrl).toBe('https://jaeger.example.com/trace/{traceId}');
});

test.each(['https://jaeger.example.com/trace/', 'javascript:alert("{traceId}")', 'https://{traceId}.example.com/'])(
  '%s is refused, with what is expected',
  async (traceUrl) => {
    await expect(load(traceUrl)).rejects.toThrow(
      /api\.traceUrl: expected an http or https URL without user and password, with \{traceId\} behind its host, such as https:.*got "/,
    );
  },
);
