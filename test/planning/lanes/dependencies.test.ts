import fc from 'fast-check';
import { conflictOn } from '../../../workflows/planning/lanes/conflicts';
import {
  checkDependencies,
  failureClosure,
  isHandedOver,
  type NewBatch,
} from '../../../workflows/planning/lanes/dependencies';
import type { Verdict } from '../../../workflows/planning/lanes/eligibility';
import { verdictOn } from '../../../workflows/planning/lanes/eligibility';
import type { Lane, QueuedBatch } from '../../../workflows/planning/lanes/types';
import type { LaneBatchStatus } from '../../../workflows/planning/lanes/statuses';
import { ALL_STATUSES } from './model/transitions';

const lane = (service: string, approach: NewBatch['lane']['approach'] = 'unconstrained'): NewBatch['lane'] => ({
  service,
  kind: 'non-guaranteed',
  approach,
  onInvalid: 'continue',
});
const batch = (id: string, dependsOn: string[] = [], of: Partial<NewBatch> = {}): NewBatch => ({
  id,
  lane: lane(`lane of ${id}`),
  dependsOn,
  reads: [],
  writes: [],
  ...of,
});
const stored: Record<string, LaneBatchStatus> = { old: 'committed', bad: 'invalid', gone: 'skipped', open: 'pending' };
const check = (...batches: NewBatch[]) => checkDependencies(batches, (id) => stored[id]);

describe('dependencies at submission', () => {
  test('waits for what is open, not for what is committed [C18]', () => {
    expect(check(batch('b', ['old', 'open', 'a']), batch('a')).get('b')).toEqual({
      waitsFor: ['open', 'a'],
      failedOn: null,
    });
  });

  test('a cycle is refused and named [C18]', () => {
    expect(() => check(batch('a', ['b']), batch('b', ['c']), batch('c', ['a']), batch('x', ['a']))).toThrow(
      'dependsOn: expected no cycle, got a depends on b, which depends on c, which depends on a; leave one of these dependencies out',
    );
    expect(() => check(batch('x', ['a']), batch('a', ['b']), batch('b', ['a']))).toThrow(
      'expected no cycle, got a depends on b, which depends on a; leave',
    );
    expect(() => check(batch('a', ['a']))).toThrow('dependsOn of batch a: expected other batches, got itself');
  });

  test('a cycle through the order of two serial lanes would lock both and is refused too; in parallel it is one only on a conflict [C9]', () => {
    const crossed = (approach: 'serial' | 'parallel', key: string) =>
      check(
        batch('b', ['a'], { lane: lane('L', approach), writes: ['k'] }),
        batch('c', [], { lane: lane('L', approach), writes: [key] }),
        batch('d', ['c'], { lane: lane('M', approach), writes: ['k'] }),
        batch('a', [], { lane: lane('M', approach), writes: ['k'] }),
      );
    expect(() => crossed('serial', 'other')).toThrow(
      /got b depends on a, which comes in lane M after d, which depends on c, which comes in lane L after b;/,
    );
    expect(() => crossed('parallel', 'k')).toThrow(/expected no cycle/);
    expect(() => crossed('parallel', 'other')).not.toThrow();
  });

  test('in a lane that keeps its order each comes after the one right before it [C9]', () => {
    const inLane = { lane: lane('L', 'serial') };
    expect(() =>
      check(batch('a', ['c'], inLane), batch('b', [], inLane), batch('c', [], inLane), batch('d', [], inLane)),
    ).toThrow('got a depends on c, which comes in lane L after b, which comes in lane L after a; leave one');
  });

  test('bad input: unknown, too many, one id twice', () => {
    expect(() => check(batch('b', ['nobody']))).toThrow(
      'dependsOn of batch b: expected ids of batches accepted before or of this call, got nobody',
    );
    expect(() =>
      check(
        batch(
          'b',
          Array.from({ length: 1_001 }, (_, n) => `${n}`),
        ),
      ),
    ).toThrow(/expected at most 1000 batches, got 1001/);
    expect(() => check(batch('b', Array<string>(1_000).fill('open')))).not.toThrow();
    expect(() => check(batch('b'), batch('b'))).toThrow('expected distinct ids');
  });

  test('on an invalid or skipped one: fails at once, and takes with it what depends on it, transitively [C18]', () => {
    const checked = check(
      batch('a', ['bad']),
      batch('b', ['a', 'open']),
      batch('c', ['b']),
      batch('d', ['gone']),
      batch('e', ['old']),
      batch('f', ['a']),
    );
    expect(Object.fromEntries([...checked].map(([id, { failedOn }]) => [id, failedOn]))).toEqual({
      a: 'bad',
      b: 'a',
      c: 'b',
      d: 'gone',
      e: null,
      f: 'a',
    });
    const chain = failureClosure([1], (id) => (id < 4 ? [id + 1] : []));
    expect(chain).toEqual([1, 2, 3].map((on) => ({ id: on + 1, on })));
    expect(failureClosure([1], (id) => ({ 1: [2, 3], 2: [3], 3: [1, 4] })[id] ?? [])).toEqual([
      { id: 2, on: 1 },
      { id: 3, on: 1 },
      { id: 4, on: 3 },
    ]);
  });

  test('property: refused exactly when no order of the batches respects all dependencies [C18]', () => {
    const graphs = fc.array(fc.uniqueArray(fc.nat(5), { maxLength: 3 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(graphs, (graph) => {
        const edges = graph.map((needs, at) => needs.filter((need) => need < graph.length && need !== at));
        const left = new Set(edges.keys());
        for (let before = -1; before !== left.size;) {
          before = left.size;
          for (const at of left) if (edges[at]!.every((need) => !left.has(need))) left.delete(at);
        }
        const batches = edges.map((needs, at) => batch(`${at}`, needs.map(String)));
        if (left.size === 0) expect(() => check(...batches)).not.toThrow();
        else expect(() => check(...batches)).toThrow(/expected no cycle/);
      }),
    );
  });

  test('a chain of 20,000 is checked without recursion', () => {
    const chain = Array.from({ length: 20_000 }, (_, n) => batch(`${n}`, n === 0 ? [] : [`${n - 1}`]));
    expect(check(...chain.reverse()).size).toBe(20_000);
  });
});

describe('read and write sets', () => {
  const sets = (reads: string[], writes: string[]) => ({ reads, writes });
  test('read and read is no conflict; any write with the same key is, and none declared is with all [C25]', () => {
    expect(conflictOn(sets(['a'], ['x']), sets(['a'], ['y']))).toBeNull();
    expect(conflictOn(sets(['a'], []), sets(['a'], []))).toBeNull();
    expect(conflictOn(sets(['a'], []), sets([], ['a']))).toBe('a');
    expect(conflictOn(sets([], ['a']), sets(['a'], ['b']))).toBe('a');
    expect(conflictOn(sets([], ['a']), sets([], ['b', 'a']))).toBe('a');
    expect(conflictOn(sets([], []), sets(['b'], []))).toBe('*');
  });

  test('property: it does not matter which of the two comes first [C25]', () => {
    const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'));
    fc.assert(
      fc.property(keys, keys, keys, keys, (r1, w1, r2, w2) => {
        const one = sets(r1, w1);
        const other = sets(r2, w2);
        expect(conflictOn(one, other) === null).toBe(conflictOn(other, one) === null);
      }),
    );
  });
});

describe('dependencies that the downstream keeps', () => {
  const sendable = (unsure: boolean) => ALL_STATUSES.filter((status) => isHandedOver(status, unsure));

  test('a batch is sent when the downstream has what it depends on', () => {
    expect(sendable(false)).toEqual(['pending', 'valid', 'committed']);
  });

  const verdictOnOne = (one: Partial<QueuedBatch>) => {
    const queued = { id: 1, sequence: 1, part: 0, reads: [], writes: [], weight: 1, notBeforeInMs: null };
    const open: QueuedBatch[] = [{ ...queued, status: 'unsubmitted', waitsFor: [], failedOn: null, ...one }];
    return verdictOn({ ...lane('po-1'), open, openMore: false } as unknown as Lane, 1);
  };

  test.each<[LaneBatchStatus, Verdict, Verdict]>([
    ['unsubmitted', { kind: 'dependency', on: [7] }, { kind: 'failed', on: 7 }],
    ['delayed', { kind: 'dependency', on: [7] }, { kind: 'failed', on: 7 }],
    ['unknown', { kind: 'dependency', on: [7] }, { kind: 'may-go' }],
    ['pending', { kind: 'in-flight' }, { kind: 'in-flight' }],
  ])('a batch that is %s when the downstream loses what it depends on, and when that fails', (status, lost, failed) => {
    expect(verdictOnOne({ status, waitsFor: [7] })).toEqual(lost);
    expect(verdictOnOne({ status, failedOn: 7 })).toEqual(failed);
  });

  test('one that may have been applied is sent again also after what it depends on has failed', () => {
    expect(sendable(true)).toEqual([
      'pending',
      'valid',
      'committed',
      'invalid',
      'skipped',
      'failed-dependency',
      'cancelled',
    ]);
  });
});
