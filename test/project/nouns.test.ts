import type { Command } from 'commander';
import { createClient } from '../../client';
import { Bulk } from '../../client/bulk/bulk';
import { Executions } from '../../client/executions/executions';
import { Fanouts } from '../../client/fanouts/fanouts';
import { Items } from '../../client/fanouts/items';
import { Batches } from '../../client/lanes/batches';
import { Lanes } from '../../client/lanes/lanes';
import { Limits } from '../../client/limits/limits';
import { SharedLimits } from '../../client/limits/sharedLimits';
import { Queuers } from '../../client/lanes/queuers';
import { Nodes, Partitions } from '../../client/nodes/nodes';
import { Callbacks } from '../../client/callbacks/callbacks';
import { Errors } from '../../client/listing/errors';
import { Audit } from '../../client/operations/audit';
import { Handlers } from '../../client/operations/handlers';
import { Targets } from '../../client/operations/targets';
import { Outcomes } from '../../client/outcomes/outcomes';
import { Tasks } from '../../client/tasks/tasks';
import { allRoutes } from '../../workers/api/routes';
import { read } from './project';
import { programToRead } from './references/cli';

/**
 * The client by nouns: the table of docs/client.md is compared with the classes, with the client's
 * short forms and what their comments say, with the command line and with the HTTP API.
 */

const NOUNS: Readonly<Record<string, { prototype: object }>> = {
  tasks: Tasks,
  handlers: Handlers,
  targets: Targets,
  batches: Batches,
  bulk: Bulk,
  lanes: Lanes,
  queuers: Queuers,
  fanouts: Fanouts,
  items: Items,
  executions: Executions,
  nodes: Nodes,
  partitions: Partitions,
  audit: Audit,
  errors: Errors,
  outcomes: Outcomes,
  limits: Limits,
  sharedLimits: SharedLimits,
  callbacks: Callbacks,
};
const verbsOf = (prototype: object): string[] =>
  Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');

interface Row {
  verb: string;
  short: string;
  cli: string;
  http: string[];
}
const cellsOf = (line: string): string[] => line.split('|').slice(1, -1);
const codeOf = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
const ROWS = read('docs/client.md')
  .split('\n## Nouns and verbs\n')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line): Row => {
    const [[verb = ''] = [], [short = ''] = [], [cli = ''] = [], http = []] = cellsOf(line).map(codeOf);
    return { verb, short, cli, http };
  });
const rowsOfNouns = ROWS.filter(({ verb }) => verb.includes('.'));

/** What no noun has: it is about the whole, or what the verbs themselves use. */
const OF_THE_CLIENT = [
  'actingAs',
  'change',
  'close',
  'ready',
  'releaseDependents',
  'ringLaneIds',
  'temporal',
  'verify',
  'wake',
  'wakeFailed',
];

type Verbs = Record<string, (...args: unknown[]) => unknown>;
interface Told {
  noun: string;
  verb: string;
  args: unknown[];
  /** Whether the verb had its noun, as when it is not taken off. */
  bound: boolean;
}

/** A client whose verbs say which of them was called, with what. */
const recording = (): { client: Verbs & Record<string, Verbs>; told: Told[]; close: () => Promise<void> } => {
  const told: Told[] = [];
  for (const [noun, type] of Object.entries(NOUNS))
    for (const verb of verbsOf(type.prototype))
      jest.spyOn(type.prototype as Verbs, verb).mockImplementation(function (this: unknown, ...args) {
        told.push({ noun, verb, args, bound: Object.getPrototypeOf(this ?? {}) === type.prototype });
      });
  const client = createClient({ databaseUrl: 'postgres://localhost:1/none' });
  return { client: client as never, told, close: () => client.close() };
};
afterEach(() => jest.restoreAllMocks());

test('the table has every verb of every noun once', () => {
  const all = Object.entries(NOUNS).flatMap(([noun, { prototype }]) =>
    verbsOf(prototype).map((verb) => `${noun}.${verb}`),
  );
  expect(all.length).toBeGreaterThan(50);
  expect(rowsOfNouns.map(({ verb }) => verb).sort()).toEqual(all.sort());
});

test('a short form and its verb are the same operation, taken off or not', async () => {
  const { client, told, close } = recording();
  for (const { verb: name, short } of rowsOfNouns) {
    const [noun, verb] = name.split('.') as [string, string];
    const forms = [client[noun]![verb]!, ...(short === '' || short === 'resolve' ? [] : [client[short]!])];
    const args = [`argument of ${name}`, 2];
    for (const form of forms) form(...args);
    expect({ name, told: told.splice(0) }).toEqual({
      name,
      told: forms.map(() => ({ noun, verb, args, bound: true })),
    });
  }
  await close();
});

test('the client has no method but the short forms of the table, and what is about the whole', async () => {
  const client = createClient({ databaseUrl: 'postgres://localhost:1/none' });
  const own = [...Object.getOwnPropertyNames(client), ...verbsOf(Object.getPrototypeOf(client) as object)];
  const methods = own.filter((name) => typeof client[name as keyof typeof client] === 'function');
  const shortForms = rowsOfNouns.flatMap(({ short }) => (short === '' ? [] : [short]));
  expect(methods.sort()).toEqual([...new Set([...shortForms, ...OF_THE_CLIENT])].sort());
  await client.close();
});

test('the comment of a short form names its verb', () => {
  const comments = new Map(
    [
      ...read('client/client.ts').matchAll(
        /\/\*\* (?:Short|A call is short) for (.+)\. \*\/\n {2}(?:readonly )?(\w+)/g,
      ),
    ].map(([, verbs, short]) => [
      short!,
      [...verbs!.matchAll(/\{@link (\w+)\.(\w+)\}/g)].map(([, noun, verb]) => `${noun!.toLowerCase()}.${verb!}`),
    ]),
  );
  const shortForms = new Map<string, string[]>();
  for (const { verb, short } of rowsOfNouns)
    if (short !== '') shortForms.set(short, [...(shortForms.get(short) ?? []), verb]);
  expect(comments.size).toBeGreaterThan(50);
  expect(Object.fromEntries(comments)).toEqual(Object.fromEntries(shortForms));
});

test('resolve is short for the verbs of two nouns', async () => {
  const client = createClient({ databaseUrl: 'postgres://localhost:1/none' });
  const as = { as: 'failed' } as const;
  const errorOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);
  const pairs = [
    [client.resolve({ batch: 0 }, as), client.batches.resolve(0, as), /^batch: .* got 0/],
    [client.resolve({ tasks: ['a', ''] }, as), client.tasks.resolve(['a', ''], as), /^tasks\[1\]: /],
  ] as const;
  for (const [short, long, message] of pairs) {
    const error = await errorOf(short);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) });
    expect(await errorOf(long)).toEqual(error);
  }
  await client.close();
});

const commandOf = (text: string): { command: Command | undefined; options: string[] } => {
  const words = text.split(' ').slice(1);
  const command = words
    .filter((word) => !word.startsWith('--'))
    .reduce<Command | undefined>((found, word) => found?.commands.find((one) => one.name() === word), programToRead());
  return { command, options: words.filter((word) => word.startsWith('--')) };
};

test('every command of the table exists, with its options', () => {
  const missing = ROWS.filter(({ cli }) => cli !== '').filter(({ cli }) => {
    const { command, options } = commandOf(cli);
    return options.some((option) => !command?.options.some(({ long }) => long === option)) || command === undefined;
  });
  expect(ROWS.filter(({ cli }) => cli !== '').length).toBeGreaterThan(40);
  expect(missing).toEqual([]);
});

const unused = (): never => {
  throw new Error('not asked');
};
const routes = allRoutes({ stopping: new AbortController().signal, metrics: unused, document: unused });
const routeOf = (text: string): (typeof routes)[number] | undefined =>
  routes.find(({ method, path }) => `${method} ${path}` === text.replace(/\?.*/, ''));

test('the table has every route but those of streams, of handles on executions and of the process', () => {
  const listed = ROWS.flatMap(({ http }) => http);
  expect(listed.filter((text) => routeOf(text) === undefined)).toEqual([]);
  const wanted = routes.filter(
    ({ path, id, stream }) =>
      stream === undefined && path.startsWith('/v1/') && (id === 'getExecution' || !path.includes('{execution}')),
  );
  expect(new Set(listed.map((text) => routeOf(text)!.id))).toEqual(new Set(wanted.map(({ id }) => id)));
});

const wordsOf = (verb: string): string[] => verb.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ');

test('what changes something has one word in the client, the command line and the HTTP API', () => {
  const changing = rowsOfNouns.filter(({ http }) => http.some((text) => !text.startsWith('GET ')));
  expect(changing.length).toBeGreaterThan(25);
  const others = changing.flatMap(({ verb: name, cli, http }) => {
    const words = wordsOf(name.split('.')[1]!);
    const ids = http.map((text) => routeOf(text)!.id).filter((id) => id !== 'unsetTarget'); // set with null
    const said = cli.split(/[ -]+/);
    return [
      ...ids.filter((id) => wordsOf(id)[0] !== words[0]),
      ...(cli === '' || words.some((word) => said.includes(word)) ? [] : [cli]),
    ];
  });
  // The word of a bulk action is what it does; the options of a queuer are what is set.
  expect(others).toEqual(['muster bulk redrive', 'muster queuer --slots']);
});
