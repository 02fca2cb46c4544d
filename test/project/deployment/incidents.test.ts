import { readdirSync } from 'node:fs';
import path from 'node:path';
import { RULES } from '../../incidents/ruleTimeline';
import { read, ROOT } from '../project';

/** docs/operations/incidents.md: a section for each incident that a test injects, and no other. */

interface Incident {
  name: string;
  alert: string;
  isFound: boolean;
  isExplained: boolean;
}
/** What the tests of a file say is to be seen. */
const incidentsOf = (file: string): Incident[] =>
  read(`test/incidents/${file}`)
    .split(/^test\('/m)
    .slice(1)
    .map((text) => ({
      name: text.slice(0, text.indexOf("'")),
      alert: /alert: \['(\w+)'/.exec(text)![1]!,
      isFound: /finding: \//.test(text),
      isExplained: /explain: \[/.test(text),
    }));
const files = readdirSync(path.join(ROOT, 'test/incidents')).filter(
  (name) => name.endsWith('.test.ts') && name !== 'board.test.ts',
);
const incidents = files.flatMap(incidentsOf).map((one): [string, Incident] => [one.name, one]);
const page = read('docs/operations/incidents.md');
const sections = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
);
const headingOf = (name: string): string => name[0]!.toUpperCase() + name.slice(1);
const line = (name: string, of: string): string =>
  new RegExp(`^- \\*\\*${of}:\\*\\* (.+)$`, 'm').exec(sections.get(headingOf(name)) ?? '')?.[1] ?? '';

test('at least twenty incidents are injected, each by a name of its own', () => {
  expect(incidents.length).toBeGreaterThanOrEqual(20);
  expect(new Set(incidents.map(([name]) => name)).size).toBe(incidents.length);
});

test.each(incidents)('%s: its section says what is seen, and what to do', (name, { alert, isFound, isExplained }) => {
  expect(line(name, 'Alert')).toBe(`\`${alert}\`.`);
  expect([name, !line(name, 'Dashboard').startsWith('nothing')]).toEqual([name, isFound]);
  expect([name, !line(name, '`muster explain`').startsWith('nothing')]).toEqual([name, isExplained]);
  for (const part of ['What ends it', 'Why it happens']) expect(line(name, part).length).toBeGreaterThan(20);
});

test('a section is of an incident that a test injects', () => {
  expect([...sections.keys()].filter((name) => !incidents.some(([one]) => headingOf(one) === name))).toEqual([]);
});

/** What no test injects: `withoutTest` is in the table of the page alone. */
test('of the alerts only these fire in no test', () => {
  const fire = new Set(incidents.map(([, { alert }]) => alert));
  const withoutTest = ['MusterStalled', 'MusterUnansweredWakes', 'MusterConnectionsShort'];
  expect(RULES.map(({ alert }) => alert).filter((alert) => !fire.has(alert))).toEqual(withoutTest);
});

test.each([...sections])('%s: names commands and routes that there are', (_name, text) => {
  const cli = read('docs/reference/cli.md');
  for (const [, command] of text.matchAll(/`muster ([a-z]+(?: (?:skip|fix|resume|send|show|stop|set)\b)?)/g))
    expect([command, new RegExp(`\n###? muster ${command}\n`).test(cli)]).toEqual([command, true]);
  const routes = read('docs/reference/http.md').replaceAll(/\{\w+\}/g, '*');
  for (const [, route] of text.matchAll(/`((?:POST|PATCH|PUT) \/v1[^`]*)`/g)) {
    const shape = route!.replaceAll(/<\w+>|(?<=handlers\/|limits\/)\w+/g, '*');
    expect([route, routes.includes(`### ${shape}\n`)]).toEqual([route, true]);
  }
});
