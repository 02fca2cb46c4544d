import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeDevFile } from '../../workers/dev/file';
import { useConfigFolder } from './configFolder';

/**
 * Settings that are named beside a `muster dev` of the folder, and how long names in them may be.
 */

const folder = useConfigFolder();
const { load } = folder;
const handler = {
  kind: 'http',
  name: 'a',
  target: 'x',
  limits: { maxItems: 5 },
  request: { url: 'http://127.0.0.1/' },
  response: { perItem: false },
};
const writeConfig = (settings: object): void => {
  const config = { handlers: [handler], ...settings };
  writeFileSync(path.join(folder.cwd, 'muster.config.json'), JSON.stringify(config));
};

test('in the database of a `muster dev` its schema is used, unless another is named', async () => {
  const databaseUrl = 'postgres://user@dev/db';
  const temporal = { address: 'dev:1', namespace: 'dev', uiUrl: null };
  writeDevFile(folder.cwd, { pid: process.pid, databaseUrl, schema: 'of_dev', prefix: 'dev', temporal, config: null });
  const used = async (env: Record<string, string> = {}) => {
    const settings = await load(env);
    expect(settings.databaseUrl).toBe(databaseUrl);
    return settings.schema;
  };
  expect(await used()).toBe('of_dev');
  writeConfig({ schema: 'of_file' });
  expect(await used()).toBe('of_file');
  expect(await used({ MUSTER_SCHEMA: 'of_variable' })).toBe('of_variable');
});

test('a pattern of workflows is as long as an id of one may be, and no longer', async () => {
  const allowing = (length: number) => {
    writeConfig({ callbacks: { workflows: { allow: ['w'.repeat(length)] } } });
    return load();
  };
  expect((await allowing(1_000)).callbacks).toMatchObject({ workflows: { allow: ['w'.repeat(1_000)] } });
  await expect(allowing(1_001)).rejects.toThrow(/callbacks\.workflows\.allow\.0: expected a workflow id/);
});
