import { simulate } from 'temporal-muster/testing';
import { indexCity } from './cities';

const city = (name: string, country = 'se') => ({ id: name, payload: { country, name } });

test('a full batch goes at once, the rest after a minute', async () => {
  const world = simulate(indexCity(async () => []));
  await world.submit(['Lund', 'Ystad', 'Malmö', 'Kiruna'].map((name) => city(name)));
  expect(world.calls.map(({ atMs, tasks }) => [atMs, tasks.length])).toEqual([[0, 3]]);
  await world.advance('1 minute');
  expect(world.calls[1]).toMatchObject({ atMs: 60_000, target: 'se', reason: 'linger' });
});

test('a city that was refused for now comes back ten minutes later, alone', async () => {
  let refused = ['Oslo'];
  const world = simulate(indexCity(async () => refused));
  await world.submit([city('Oslo', 'no'), city('Moss', 'no')]);
  await world.advance('1 minute');
  refused = [];
  await world.advance('1 hour');
  expect(world.calls.map(({ tasks }) => tasks.map(({ id }) => id))).toEqual([['Oslo', 'Moss'], ['Oslo']]);
  expect(world.task('Oslo')).toMatchObject({ state: 'succeeded', attempts: 2, endedAtMs: 12 * 60_000 });
});

test('what the handler logs says of which batch it is', async () => {
  const lines: unknown[][] = [];
  const line = (...given: unknown[]) => void lines.push(given);
  const log = { debug: line, info: line, warn: line, error: line };
  const world = simulate(
    indexCity(async () => ['Oslo']),
    { log },
  );
  await world.submit(city('Oslo', 'no'));
  await world.advance('1 minute');
  const call = { handler: 'index-city', target: 'no', batch: 1, attempt: 1 };
  expect(lines).toEqual([[{ ...call, refused: ['Oslo'] }, 'the index is busy']]);
});
