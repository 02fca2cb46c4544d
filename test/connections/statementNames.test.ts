import { read, trackedFiles } from '../project/project';

/**
 * A session prepares a statement under its name, once: another text under the same name is refused
 * by the driver, in the session that has seen the first one.
 */
const STATEMENT = /name: ?'([a-z\d-]+)',\s*text: ?('[^']*'|`[^`]*`|[^,}]*)/g;

test('a name stands for one statement, in whatever file', () => {
  const texts = new Map<string, Set<string>>();
  for (const file of trackedFiles().filter((name) => /^(activities|client|postgres|workers)\/.*\.ts$/.test(name)))
    for (const [, name, text] of read(file).matchAll(STATEMENT)) {
      const known = texts.get(name!) ?? new Set();
      texts.set(name!, known.add(text!));
    }
  expect(texts.size).toBeGreaterThan(350);
  expect([...texts].filter(([, all]) => all.size > 1).map(([name]) => name)).toEqual([]);
});
