import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FileWatch } from '../../../workers/dev/fileWatch';
import type { Settings } from '../../../workers/config/config';
import { Reload } from '../../../workers/dev/reload';
import { eventually } from '../../helpers/eventually';

/** What is saved between the load of the config and the first watch over it. */

let folder: string;
let config: string;
let loads: number;
let reload: Reload | undefined;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-saved-'));
  config = path.join(folder, 'muster.config.ts');
  loads = 0;
  reload = undefined;
});
afterEach(async () => {
  await reload?.stop();
  rmSync(folder, { recursive: true });
});

const settings = (): Settings => ({ config, handlers: [] }) as unknown as Settings;
const begin = (readSince: number): void => {
  const said: string[] = [];
  const load = async (): Promise<Settings> => {
    loads++;
    return settings();
  };
  const failed = (error: Error): never => {
    throw error;
  };
  reload = new Reload(
    { cwd: folder, load, replace: async () => undefined, failed, say: (line) => said.push(line) },
    settings(),
    readSince,
  );
  reload.begin();
};
const saveAt = (ms: number): void => {
  writeFileSync(config, '');
  utimesSync(config, ms / 1_000, ms / 1_000);
};

test('a file that was saved after the load began is loaded again, once', async () => {
  const since = Date.now();
  saveAt(since + 1);
  begin(since);
  await eventually(() => loads === 1);
  await reload!.stop();
  expect(loads).toBe(1);
});

test('a file that was saved before is not', async () => {
  const since = Date.now();
  saveAt(since - 1_000);
  begin(since);
  await reload!.stop();
  expect(loads).toBe(0);
});

test('a module whose folder is gone is no reason to fail', () => {
  const watch = new FileWatch(() => undefined);
  watch.add([config, path.join(folder, 'gone', 'handler.ts')], Date.now());
  expect(watch.hasChanged()).toBe(false);
  watch.stop();
});
