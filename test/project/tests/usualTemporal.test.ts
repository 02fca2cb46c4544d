import { read, trackedFiles } from '../project';

/** What is passed to each `createClient(...)` of a text. */
const clientsOf = (text: string): string[] =>
  [...text.matchAll(/\bcreateClient\(/g)].map(({ index }) => {
    let [end, depth] = [index + 'createClient('.length, 1];
    for (; depth > 0; end++) depth += { '(': 1, ')': -1 }[text[end]!] ?? 0;
    return text.slice(index, end);
  });

/** It names a Temporal, or passes on options that may; or there is no such database. */
const isTold = (client: string): boolean => /\btemporal\b|\.\.\.|'postgres:\/\//.test(client);

test('no client of a test is left to the Temporal that this machine may run', () => {
  const clients = trackedFiles()
    .filter((file) => /^test\/.*\.ts$/.test(file) && !file.startsWith('test/project/tests/'))
    .flatMap((file) => clientsOf(read(file)).map((client) => ({ file, client })));
  expect(clients.length).toBeGreaterThan(50);
  expect(clients.filter(({ client }) => !isTold(client))).toEqual([]);
});

test.each([
  ['createClient({ databaseUrl: url, handlers: [of(one)] })', false],
  ['createClient({ databaseUrl: url, temporal: { address } })', true],
  ['createClient({ ...options, handlers })', true],
  [`createClient({ databaseUrl: 'postgres://nobody@127.0.0.1:9/none' })`, true],
])('of %s it is %s', (text, told) => {
  expect(clientsOf(text).map(isTold)).toEqual([told]);
});
