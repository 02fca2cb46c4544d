import { faultsIn } from '../handlers/build';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { CITY_COUNT, cityTasks, expectedOutcome } from '../../examples/demo/cities';
import { type CityPayload, indexCityHandler } from '../../examples/demo/handler';
import { type DemoFigures, demoProblems, demoReport } from '../../examples/demo/report';
import type { ExampleProcess } from '../../examples/support/child';
import { buildBatch, buildContext, countByStatus, Examples, getJson, outcomeOf, rejection, resultsOf } from './helpers';

/** @full */

interface Stats {
  calls: number;
  items: number;
  refused: number;
  replays: number;
  rejected: number;
  rows: number;
  duplicateEffects: number;
}

const examples = new Examples();
const database = `demo_${randomBytes(6).toString('hex')}`;
const server = new URL(process.env['MUSTER_TEST_POSTGRES_URL'] ?? 'postgres://missing-MUSTER_TEST_POSTGRES_URL');
const databaseUrl = Object.assign(new URL(server), { pathname: `/${database}` }).href;

async function administer(statement: string): Promise<void> {
  const client = new Client({ connectionString: server.href });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** A downstream with tables of its own. */
function startDownstream(schema: string, ...args: string[]): Promise<ExampleProcess> {
  return examples.start('demo/downstream', ['--database-url', databaseUrl, '--schema', schema, ...args]);
}

const cities = (country: string, count: number): CityPayload[] =>
  [...cityTasks()]
    .map((task) => task.payload)
    .filter((city) => city.country === country)
    .slice(0, count);

beforeAll(() => administer(`create database ${database}`));
afterAll(async () => {
  await examples.stopAll();
  await administer(`drop database ${database} with (force)`);
});

describe('the cities', () => {
  it('are more than 100,000 distinct tasks that fit the handler', () => {
    const handler = indexCityHandler({ url: 'http://127.0.0.1:9' });
    const tasks = [...cityTasks()];
    const misfits = tasks.filter((task) => faultsIn(handler, task.payload).length > 0);
    expect(tasks).toHaveLength(CITY_COUNT);
    expect(tasks.length).toBeGreaterThan(100_000);
    expect(new Set(tasks.map((task) => task.id)).size).toBe(tasks.length);
    expect(misfits).toEqual([]);
    expect(new Set(tasks.map((task) => handler.target(task.payload))).size).toBe(246);
  });
});

describe('the report', () => {
  const figures: DemoFigures = {
    accepted: 1_000,
    states: { succeeded: 998, failed: 2, dead: 0 },
    seconds: 4,
    maxItems: 500,
    expected: { calls: 4, failed: 2 },
    downstream: { calls: 7, items: 998, refused: 2, replays: 1, rejected: 2, rows: 998, duplicateEffects: 0 },
  };

  it('knows how many calls are the fewest and who is refused', () => {
    expect(expectedOutcome(cityTasks(), 500)).toEqual({ calls: 461, failed: 74 });
  });

  it('tells calls against one by one, and the accounting', () => {
    const report = demoReport(figures);
    expect(report).toContain('one by one: 1,000; the fewest possible: 4');
    expect(report).toContain('= 998 succeeded + 2 failed');
    expect(report).toContain('50.0 % of the 500 allowed');
    expect(demoProblems(figures)).toEqual([]);
  });

  it.each<[Partial<DemoFigures>, string]>([
    [{ accepted: 1_001 }, 'accounting: 1001 tasks accepted, 1000 in all states together'],
    [{ states: { succeeded: 997, failed: 2, unknown: 1 } }, '1 tasks have neither succeeded nor failed'],
    [{ states: { succeeded: 997, failed: 3 } }, 'failed: expected the 2 that the downstream refuses, got 3'],
    [{ downstream: { ...figures.downstream, rows: 997 } }, 'the downstream has 997 rows, 998 tasks succeeded'],
    [{ downstream: { ...figures.downstream, duplicateEffects: 1 } }, 'the downstream saw 1 effects twice'],
  ])('finds what is wrong: %j', (wrong, problem) => {
    expect(demoProblems({ ...figures, ...wrong })).toContain(problem);
  });
});

describe('index-city', () => {
  it('a record that the downstream does not accept fails alone, its neighbours succeed [H1]', async () => {
    const downstream = await startDownstream('partial', '--busy-rate', '0');
    const handler = indexCityHandler({ url: downstream.url });
    const batch = buildBatch(handler, cities('PT', 20));
    const bad: CityPayload = { ...(batch.tasks[7]?.payload as CityPayload), name: 'Santa Cruz', population: 0 };
    const tasks = batch.tasks.map((task, index) => (index === 7 ? { ...task, payload: bad } : task));

    const results = await resultsOf(await handler.submit({ ...batch, tasks }, buildContext()));

    expect(countByStatus(results)).toEqual({ ok: 19, failed: 1 });
    expect(results.find((result) => result.status === 'failed')).toMatchObject({
      id: 'task-7',
      error: 'population: expected above 0 for "Santa Cruz", got 0',
    });
    expect(await getJson<Stats>(`${downstream.url}/stats`)).toMatchObject({
      calls: 1,
      items: 19,
      rejected: 1,
      rows: 19,
    });
  });

  it('a lost answer is had again with the same key, and the effect happens once [H3]', async () => {
    const downstream = await startDownstream('lost', '--busy-rate', '0');
    const proxy = await examples.lossyProxy(downstream.url, 2);
    const handler = indexCityHandler({ url: proxy.url });
    const first = buildBatch(handler, cities('FR', 500), (index) => `france-${index}`);
    const second = buildBatch(handler, cities('DE', 300), (index) => `germany-${index}`);
    const context = buildContext();

    await handler.submit(first, buildContext());
    const lost = await outcomeOf(handler, second, context);
    const again = await resultsOf(await handler.submit(second, context));

    expect(lost.kind).toBe('unknown');
    expect(again).toHaveLength(300);
    expect(await getJson<Stats>(`${downstream.url}/stats`)).toMatchObject({
      calls: 3,
      replays: 1,
      rows: 800,
      duplicateEffects: 0,
    });
  });

  it('the same key five times at once has one effect and one answer [H3]', async () => {
    const downstream = await startDownstream('at_once', '--busy-rate', '0');
    const handler = indexCityHandler({ url: downstream.url });
    const batch = buildBatch(handler, cities('IT', 400));
    const context = buildContext('one-key');

    const answers = await Promise.all(Array.from({ length: 5 }, () => handler.submit(batch, context)));

    const results = await Promise.all(answers.map(resultsOf));
    results.forEach((result) => expect(result).toEqual(results[0]));
    const stats = await getJson<Stats>(`${downstream.url}/stats`);
    expect(stats).toMatchObject({ calls: 5, replays: 4, duplicateEffects: 0 });
    expect(stats.rows).toBe(stats.items);
  });

  it('counts an effect that happens twice, so that a wrong key would be seen', async () => {
    const downstream = await startDownstream('twice', '--busy-rate', '0');
    const handler = indexCityHandler({ url: downstream.url });
    const batch = buildBatch(handler, cities('ES', 10));
    await handler.submit(batch, buildContext('key-a'));
    await handler.submit(batch, buildContext('key-b'));
    expect(await getJson<Stats>(`${downstream.url}/stats`)).toMatchObject({ rows: 10, duplicateEffects: 10 });
  });

  it('refusals of the content are RejectedErrors: 501 items, a key with other content [H4]', async () => {
    const downstream = await startDownstream('content', '--busy-rate', '0');
    const handler = indexCityHandler({ url: downstream.url });
    const tooMany = await rejection(handler.submit(buildBatch(handler, cities('US', 501)), buildContext()));
    await handler.submit(buildBatch(handler, cities('US', 5)), buildContext('used'));
    const reused = await rejection(handler.submit(buildBatch(handler, cities('US', 6)), buildContext('used')));

    expect(tooMany).toMatchObject({
      name: 'RejectedError',
      message: expect.stringContaining('expected at most 500, got 501'),
    });
    expect(reused).toMatchObject({ name: 'RejectedError', message: expect.stringContaining('another content') });
  });

  it('429 is a LaterError with the Retry-After, and nothing is applied [H5]', async () => {
    const downstream = await startDownstream('busy', '--busy-rate', '1', '--retry-after-s', '7');
    const handler = indexCityHandler({ url: downstream.url });
    const busy = await rejection(handler.submit(buildBatch(handler, cities('GR', 5)), buildContext()));
    expect(busy).toMatchObject({ name: 'LaterError', options: { retryAfterMs: 7_000 } });
    expect(await getJson<Stats>(`${downstream.url}/stats`)).toMatchObject({ refused: 1, rows: 0 });
  });

  it('the same seed refuses the same calls, about 3 % of them [H5]', async () => {
    const refusals = async (schema: string): Promise<number[]> => {
      const downstream = await startDownstream(schema, '--seed', '42', '--latency-ms', '0');
      const handler = indexCityHandler({ url: downstream.url });
      const batch = buildBatch(handler, cities('MC', 1));
      const refused: number[] = [];
      for (let call = 0; call < 200; call += 1) {
        const answer = handler.submit(batch, buildContext('the-same'));
        await answer.catch((error: Error) => refused.push(error.name === 'LaterError' ? call : -1));
      }
      return refused;
    };
    const [first, second] = await Promise.all([refusals('seed_a'), refusals('seed_b')]);
    expect(first.length).toBeGreaterThan(1);
    expect(first.length).toBeLessThan(15);
    expect(second).toEqual(first);
  });

  it('a downstream that is not there is a LaterError, since no request was written [H5]', async () => {
    const downstream = await startDownstream('gone');
    await downstream.stop();
    const handler = indexCityHandler({ url: downstream.url });
    const gone = await rejection(handler.submit(buildBatch(handler, cities('MT', 3)), buildContext()));
    expect(gone).toMatchObject({ name: 'LaterError', message: expect.stringContaining('ECONNREFUSED') });
  });

  it('keeps keys and rows through a SIGKILL', async () => {
    const before = await startDownstream('killed', '--busy-rate', '0');
    const batch = buildBatch(indexCityHandler({ url: before.url }), cities('NO', 50));
    await indexCityHandler({ url: before.url }).submit(batch, buildContext('kept'));
    await before.kill();

    const after = await startDownstream('killed', '--busy-rate', '0');
    await indexCityHandler({ url: after.url }).submit(batch, buildContext('kept'));

    expect(await getJson<Stats>(`${after.url}/stats`)).toMatchObject({
      calls: 1,
      replays: 1,
      rows: 50,
      duplicateEffects: 0,
    });
  });
});
