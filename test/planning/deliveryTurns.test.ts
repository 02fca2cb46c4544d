import fc from 'fast-check';
import { aheadOf, fullHosts, nextDelivery } from '../../workflows/planning/callbacks/turns';

/** Whose delivery begins next, where hosts are silent, slow or quick. */

const limits = { fresh: 4, slowMs: 250, perHost: 2, most: 8 };
const NOW = 10_000;
const of = (...hosts: (string | null)[]): { host: string | null }[] => hosts.map((host) => ({ host }));
const since = (sinceMs: number, ...hosts: (string | null)[]): { host: string | null; sinceMs: number }[] =>
  hosts.map((host) => ({ host, sinceMs }));
const next = (waiting: Parameters<typeof nextDelivery>[0], underWay: Parameters<typeof nextDelivery>[1]): number =>
  nextDelivery(waiting, underWay, NOW, limits);

test.each<[string, ReturnType<typeof of>, ReturnType<typeof since>, number]>([
  ['the oldest first', of('a', 'b'), [], 0],
  ['none waits', [], since(NOW, 'a'), -1],
  ['a host with room', of('a'), since(NOW, 'a'), 0],
  ['a full host lets the next one go', of('a', 'a', 'b'), since(NOW, 'a', 'a'), 2],
  ['a full host is full however long it takes', of('a', 'b'), since(0, 'a', 'a'), 1],
  ['only full hosts', of('a', 'a'), since(NOW, 'a', 'a'), -1],
  ['workflows have no host to be full', of('a', null), since(NOW, 'a', 'a', null), 1],
  ['three fresh ones leave room', of('d'), since(NOW, 'a', 'b', 'c'), 0],
  ['four fresh ones do not', of('e'), since(NOW, 'a', 'b', 'c', 'd'), -1],
  ['249 ms is fresh', of('e'), since(NOW - 249, 'a', 'b', 'c', 'd'), -1],
  ['250 ms is not', of('e'), since(NOW - 250, 'a', 'b', 'c', 'd'), 0],
  ['seven slow ones leave room', of('x'), since(0, 'a', 'b', 'c', 'd', 'e', 'f', 'g'), 0],
  ['eight do not', of('x'), since(0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), -1],
])('%s', (_, waiting, underWay, place) => expect(next(waiting, underWay)).toBe(place));

test.each<[string, ReturnType<typeof of>, ReturnType<typeof of>, string[]]>([
  ['three of a host', of('a', 'a'), of('a'), []],
  ['four of a host, wherever', of('a', 'a'), of('a', 'a', 'b'), ['a']],
  ['four that wait', of('a', 'a', 'a', 'a'), [], ['a']],
  ['workflows', of(null, null, null), of(null, null), []],
])('what is taken no more: %s', (_, waiting, underWay, hosts) => {
  expect(aheadOf(limits)).toBe(4);
  expect(fullHosts(waiting, underWay, limits)).toEqual(hosts);
});

test('unless told otherwise: 32 fresh ones, 16 of a host, 256 in all', () => {
  const hosts = (n: number): string[] => Array.from({ length: n }, (_, i) => `h${i}`);
  const may = (underWay: ReturnType<typeof since>): boolean => nextDelivery(of('a'), underWay, NOW) === 0;
  expect([may(since(NOW, ...hosts(31))), may(since(NOW, ...hosts(32)))]).toEqual([true, false]);
  expect([may(since(NOW - 249, ...hosts(32))), may(since(NOW - 250, ...hosts(32)))]).toEqual([false, true]);
  expect([may(since(0, ...Array<string>(15).fill('a'))), may(since(0, ...Array<string>(16).fill('a')))]).toEqual([
    true,
    false,
  ]);
  expect([may(since(0, ...hosts(255))), may(since(0, ...hosts(256)))]).toEqual([true, false]);
  expect(aheadOf()).toBe(32);
  expect(fullHosts(of(...Array<string>(31).fill('a')), of('a'))).toEqual(['a']);
  expect(fullHosts(of(...Array<string>(30).fill('a')), of('a'))).toEqual([]);
});

test('a host without a delivery in progress has room for one', () => {
  expect(nextDelivery(of('a', 'b'), since(NOW, 'a'), NOW, { ...limits, perHost: 1 })).toBe(1);
});

test('a quick host waits for silent ones no longer than they are fresh, while there is room for all', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('s1', 's2', 's3'), { maxLength: 60 }), (silent) => {
      const waiting = of(...silent, 'quick');
      const underWay: ReturnType<typeof since> = [];
      for (let now = 0; now <= 2 * limits.slowMs; now += limits.slowMs)
        for (let at = nextDelivery(waiting, underWay, now, limits); at >= 0;) {
          const [one] = waiting.splice(at, 1);
          if (one!.host === 'quick') return;
          underWay.push({ ...one!, sinceMs: now });
          at = nextDelivery(waiting, underWay, now, limits);
        }
      throw new Error(`still waits behind ${silent.join(' ')}`);
    }),
  );
});
