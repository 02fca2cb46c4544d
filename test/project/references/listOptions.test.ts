import { read } from '../project';

/**
 * What a list may be asked for is the same in client, HTTP API and command line, by their
 * references.
 */

const [client, http, cli] = ['client', 'http', 'cli'].map((name) => read(`docs/reference/${name}.md`)) as [
  string,
  string,
  string,
];
const sectionOf = (page: string, heading: string): string => {
  const at = page.indexOf(`${heading}\n`);
  if (at < 0) throw new Error(`no section ${heading}`);
  return page.slice(at + heading.length).split(/\n#{2,4} /)[0]!;
};
const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name!);

const ofClient = (options: string): string[] => found(sectionOf(client, `### ${options}`), /^\| `(\w+)\??` /gm);
/** With what is in the path, which the client has as an argument, or an option. */
const ofApi = (route: string): string[] =>
  found(sectionOf(http, `### GET ${route}`), /^\| `(\w+)` +\| (?:query|path) /gm);
const ofCli = (name: string): string[] => {
  const text = sectionOf(cli, name);
  const options = found(text, /^ +--([a-z-]+)/gm).map((one) =>
    one.replaceAll(/-(\w)/g, (_, c: string) => c.toUpperCase()),
  );
  return [
    ...options,
    ...found(text, /^ +(handler|target) /gm),
    ...found(/^Usage: .*$/m.exec(text)?.[0] ?? '', /\[(handler|target)\]/g),
  ];
};

/** What every command has, and what only says how its answer is printed. */
const OF_ALL = [
  ...['handler', 'ids', 'help', 'json', 'debug', 'config', 'version'],
  ...['databaseUrl', 'schema', 'prefix', 'temporalAddress', 'namespace'],
];

test.each([
  ['ListTasksOptions', '/v1/handlers/{handler}/tasks', '## muster tasks'],
  ['ListBatchesOptions', '/v1/handlers/{handler}/batches', '## muster batches'],
  ['ListCallbacksOptions', '/v1/callbacks', '## muster callbacks'],
  ['ListErrorsOptions', '/v1/errors', '## muster errors'],
  ['ListBulkOptions', '/v1/bulk', '### muster bulk list'],
])('%s: every option is one of %s and of %s, and the other way round', (options, route, name) => {
  const known = ofClient(options);
  expect(known.length).toBeGreaterThan(1);
  const [api, line] = [ofApi(route), ofCli(name)];
  expect({ missing: known.filter((one) => !api.includes(one)) }).toEqual({ missing: [] });
  expect({ missing: known.filter((one) => !line.includes(one)) }).toEqual({ missing: [] });
  expect(line.filter((one) => !OF_ALL.includes(one) && !known.includes(one))).toEqual([]);
  expect(api.filter((one) => one !== 'handler' && !known.includes(one))).toEqual([]);
});
