import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Handler } from '../../handlers';
import { loadConfig } from '../../workers/config/configFile';
import type { TestMuster } from '../helpers/muster';
import { Examples, getJson, sampleTasks } from './helpers';
import { sourcePath } from './paths';
import { present, startWith, taskEnds, untilEnded } from './throughMuster';

/** @full */

/**
 * Elasticsearch-style `_bulk` through the whole of Muster: its JSON file, as `muster worker` loads
 * it, and no code.
 */
const examples = new Examples();
const directory = mkdtempSync(join(tmpdir(), 'muster-es-'));
let muster: TestMuster;
let url: string;

beforeAll(async () => {
  const flags = ['--busy-rate', '0.1', '--call-busy-rate', '0.2', '--seed', '11'];
  ({ url } = await examples.start('elasticsearch-bulk/downstream', flags));
  muster = await startWith(await handlersFor(url));
});
afterAll(async () => {
  await muster.stop();
  await examples.stopAll();
  rmSync(directory, { recursive: true });
});

/** The example's file, but for where the downstream listens. */
async function handlersFor(downstream: string): Promise<Handler[]> {
  const file = join(directory, 'muster.config.json');
  const text = readFileSync(sourcePath('examples/elasticsearch-bulk/muster.config.json'), 'utf8');
  writeFileSync(file, text.replace('http://127.0.0.1:4477', downstream));
  const { handlers, problems } = await loadConfig(file, {});
  expect(problems).toEqual([]);
  return handlers;
}

test('single items answered 429 are retried, the malformed document fails alone, all others are indexed once [H1 H5 H10]', async () => {
  const sample = sampleTasks<{ index: string; document: object }>('examples/elasticsearch-bulk/tasks.ndjson');
  const more = Array.from({ length: 600 }, (_, n) => ({
    id: `more-${n}`,
    payload: { index: `shelf-${n % 3}`, document: { title: `Book ${n}`, pages: n } },
  }));
  await muster.client.submit('es-index', sample);
  await muster.client.submit('es-index', more);

  expect(present(await untilEnded(muster, 609, 50_000))).toEqual({ succeeded: 608, failed: 1 });
  const ends = await taskEnds(muster);
  const stats = await getJson<{ busyItems: number; writes: number; items: number }>(`${url}/_example_stats`);
  expect(ends.get('book-0005')).toMatchObject({ state: 'failed', error: expect.stringContaining('[year]') });
  // Each busy item is one more attempt of one task (G2), calls that were refused as a whole are
  // none (H5).
  const attempts = [...ends.values()].reduce((sum, end) => sum + end.attempts, 0);
  expect(stats.busyItems).toBeGreaterThan(20);
  expect(attempts).toBe(609 + stats.busyItems);
  expect(stats).toMatchObject({ writes: 608, items: attempts });
  expect(await getJson(`${url}/books/_count`)).toEqual({ count: 5 });
});
