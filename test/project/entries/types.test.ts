import { compileEntries } from './compile';
import { readEntries } from './entries';
import { importEntries } from './loaded';

/** A program that uses a name of each export compiles, as an ES module and as CommonJS. @slow */

const NOT_THERE = 'noSuchName';
let names: Record<string, string[]>;
beforeAll(async () => {
  names = await importEntries(readEntries().map(({ name }) => name));
});

test.each(['nodenext', 'bundler'] as const)('the declarations of each entry are found by %s', (resolution) => {
  const used = Object.fromEntries(Object.entries(names).map(([entry, all]) => [entry, all.slice(0, 1)]));
  // What is not there is told: the compiler has read the declarations.
  const wrong = compileEntries({ ...used, 'temporal-muster/workflow': [NOT_THERE] }, resolution);
  expect(wrong.split('\n').filter((line) => line !== '')).toEqual([
    expect.stringContaining(`has no exported member '${NOT_THERE}'`),
    expect.stringContaining(`has no exported member '${NOT_THERE}'`),
  ]);
});
