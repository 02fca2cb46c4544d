import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CliProcess } from '../process';
import { killLeftovers, startDev } from '../process';
import { makeFolder } from '../world';
import { eventually } from '../../helpers/eventually';

/** `muster dev` while its handlers are edited. @slow */

let folder: string;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => {
  killLeftovers();
  rmSync(folder, { recursive: true, force: true });
});
const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
const start = async (...args: string[]): Promise<CliProcess> => {
  const dev = await startDev({ cwd: folder }, ...args);
  await dev.says(/"ready":true/);
  ({ api } = JSON.parse(dev.stdout()) as { api: string });
  return dev;
};
/** The API, which needs no config that can be loaded. */
let api: string;
const submit = (id: string): Promise<Response> =>
  fetch(`${api}/v1/handlers/echo/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks: [{ id, payload: { shop: id } }] }),
  });
interface View {
  state: string;
  result?: { version: string };
}
const view = async (id: string): Promise<View> => (await fetch(`${api}/v1/tasks/${id}`)).json() as Promise<View>;
/** Which code handles a task. */
let ids = 0;
const handledBy = async (): Promise<string | undefined> => {
  const id = `t${++ids}`;
  expect((await submit(id)).status).toBe(200);
  await eventually(async () => (await view(id)).state === 'succeeded');
  return (await view(id)).result?.version;
};

const CONFIG = `
import { defineHandler } from 'temporal-muster';
import { version, pauseMs } from './handler';
export default [defineHandler({
  name: 'echo',
  target: ({ shop }: { shop: string }) => shop,
  limits: { maxItems: 5 },
  linger: { lingerMs: 20 },
  submit: async (batch) => {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const, result: { version } })) };
  },
})];
`;
const handler = (version: string, pauseMs = 0): string =>
  `export const version = '${version}';\nexport const pauseMs: number = ${pauseMs};\n`;

test('a saved module replaces the worker once its calls have ended; a broken one, once it is mended', async () => {
  write('muster.config.ts', CONFIG);
  write('handler.ts', handler('one', 3_000));
  const dev = await start();
  expect(await handledBy()).toBe('one');

  // A call runs while the new code is saved: it ends with the code that it began with.
  await submit('running');
  await eventually(async () => (await view('running')).state === 'in-progress');
  write('handler.ts', handler('two'));
  await dev.says(/Reloaded muster\.config\.ts in \d+ ms: echo/);
  expect(await view('running')).toMatchObject({ state: 'succeeded', result: { version: 'one' } });
  expect(await handledBy()).toBe('two');

  write('handler.ts', 'export const version = ;\n');
  await dev.says(/Not reloaded, the code of before goes on\.[^]*muster\.config\.ts: cannot be loaded/);
  expect(await handledBy()).toBe('two');

  write('muster.config.ts', CONFIG.replace('maxItems: 5', 'maxItems: 0'));
  write('handler.ts', handler('three'));
  await dev.says(/limits\.maxItems: expected/);
  expect(await handledBy()).toBe('two');

  write('muster.config.ts', CONFIG);
  await dev.says(/Reloaded[^]*Reloaded/);
  expect(await handledBy()).toBe('three');
  dev.child.kill('SIGTERM');
  expect(await dev.exit).toBe(0);
});

test('handlers in JSON are reloaded', async () => {
  const json = (maxItems: number): string =>
    JSON.stringify({
      handlers: [
        {
          kind: 'http',
          name: 'echo',
          target: 'shop',
          limits: { maxItems },
          request: { method: 'POST', url: 'http://127.0.0.1:9/' },
          response: { perItem: false },
        },
      ],
    });
  write('muster.config.json', json(5));
  const dev = await start();
  write('muster.config.json', json(-1));
  await dev.says(/Not reloaded[^]*maxItems/);
  write('muster.config.json', json(7));
  await dev.says(/Reloaded muster\.config\.json/);
  dev.child.kill('SIGTERM');
  expect(await dev.exit).toBe(0);
});

test('what is saved while all starts is reloaded once it has started', async () => {
  write('muster.config.ts', CONFIG);
  write('handler.ts', handler('one'));
  const dev = await startDev({ cwd: folder });
  await dev.says(/Starting Postgres and Temporal/);
  write('handler.ts', handler('two'));
  await dev.says(/Reloaded muster\.config\.ts/);
  ({ api } = JSON.parse(dev.stdout()) as { api: string });
  expect(await handledBy()).toBe('two');
  dev.child.kill('SIGTERM');
  expect(await dev.exit).toBe(0);
});

test('with --no-reload nothing is reloaded', async () => {
  write('muster.config.ts', CONFIG);
  write('handler.ts', handler('one', 1_000));
  const dev = await start('--no-reload');
  write('handler.ts', handler('two'));
  // Each takes longer than a reload waits for an editor.
  expect([await handledBy(), await handledBy(), await handledBy()]).toEqual(['one', 'one', 'one']);
  dev.child.kill('SIGTERM');
  expect(await dev.exit).toBe(0);
  expect(dev.stderr()).not.toContain('eloaded');
});
