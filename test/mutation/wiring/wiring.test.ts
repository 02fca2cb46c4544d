import { createRequire } from 'node:module';
import ts from 'typescript';
import { read } from '../../project/project';
import { mutated } from '../mutants/mutant';
import { DEFECTS } from './defects';
import { plant } from './plant';

const { isFull, isSlow } = createRequire(__filename)('../../helpers/jest/selection') as Record<
  'isFull' | 'isSlow',
  (text: string) => boolean
>;

/** That the defects of `npm run mutants:wiring` can still be planted, and seen by `npm test`. */

test.each(DEFECTS)('$system: $what', (defect) => {
  const text = mutated(read(defect.file), plant(defect));
  const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true });
  expect(diagnostics).toEqual([]);
  expect(text).not.toBe(read(defect.file));
  const test = read(defect.test);
  expect([isSlow(test), isFull(test)]).toEqual([false, false]);
});

test('each system has at least three', () => {
  const counts = new Map<string, number>();
  for (const { system } of DEFECTS) counts.set(system, (counts.get(system) ?? 0) + 1);
  expect(counts.size).toBe(5);
  for (const [system, n] of counts) expect([system, n >= 3]).toEqual([system, true]);
});

test('a defect whose text is not there, or is there twice, is refused', () => {
  const [first] = DEFECTS;
  expect(() => plant({ ...first!, from: 'no such text' })).toThrow(/Cannot plant ".*": .* not once/);
  expect(() => plant({ ...first!, from: 'answer' })).toThrow(/Adjust the defect to the code/);
});
