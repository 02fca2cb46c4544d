import { outlast } from '../../postgres/outage';

/** What is kept until Postgres takes it, and what is not. */

const failing = (...codes: (string | null)[]) => {
  let tries = 0;
  return async (): Promise<number> => {
    const code = codes[tries++];
    if (code !== undefined) throw Object.assign(new Error(`error ${code}`), code === null ? {} : { code });
    return Promise.resolve(tries);
  };
};
const aborted = AbortSignal.abort();
const running = new AbortController().signal;

test.each([
  ['takes no writes', '25006'],
  ['is starting', '57P03'],
  ['lets another transaction hold the lock for longer than a statement waits', '55P03'],
])('Postgres %s: the work is repeated until it is done, and the outage is told once', async (_, code) => {
  const told: string[] = [];
  const onOutage = (error: unknown): void => void told.push((error as Error).message);
  expect(await outlast(failing(code, code), { signal: running, onOutage })).toBe(3);
  expect(told).toEqual([`error ${code}`]);
});

test.each([
  ['a refusal of the statement itself', '42883', running],
  ['an error that is not of Postgres', null, running],
  ['an outage at the end of the grace period', '25006', aborted],
])('%s is thrown at once', async (_, code, signal) => {
  await expect(outlast(failing(code), { signal, onOutage: () => undefined })).rejects.toThrow(`error ${code}`);
});
