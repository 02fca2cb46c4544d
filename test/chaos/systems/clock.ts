import path from 'node:path';

/**
 * Loaded before a worker (`node --require`): its clock, in each of its threads, is off by so many
 * ms.
 */

export const CLOCK_VARIABLE = 'MUSTER_TEST_CLOCK_OFF_MS';
export const shiftedClock = path.join(process.cwd(), 'dist', 'test', 'chaos', 'systems', 'clock.js');

const offMs = Number(process.env[CLOCK_VARIABLE] ?? 0);
if (offMs !== 0) {
  const Real = Date;
  const now = (): number => Real.now() + offMs;
  globalThis.Date = new Proxy(Real, {
    construct: (target, args: []) => (args.length === 0 ? new target(now()) : new target(...args)),
    apply: () => new Real(now()).toString(),
    get: (target, key) => (key === 'now' ? now : (Reflect.get(target, key) as unknown)),
  });
}
