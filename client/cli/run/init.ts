import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { InvalidArgumentError, MusterError } from '../../errors';
import type { Project } from '../init/names';
import { HANDLER_NAME } from '../init/names';
import { manifestOf, projectFiles } from '../init/projectFiles';
import { Questions } from '../init/questions';
import { command } from '../support/command';
import { ownManifest, PACKAGES } from '../support/optionalPackages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  handler?: string;
  kind?: string;
  url?: string;
  yes: boolean;
}

export const initCommand = (): Command =>
  command(
    'init',
    'Write a config file, a handler with its test, sample tasks and a compose file.',
    [
      'muster init',
      'muster init orders --handler orders --yes',
      'muster init --kind json --url https://api.example.com/orders:batch',
    ],
    'Asks for what the options leave open, if it runs on a terminal. No file is replaced: if one exists, nothing is\n' +
      'written. A package.json that is there stays as it is.',
  )
    .argument('[folder]', 'folder of the project, made if it is missing', '.')
    .option('--handler <name>', 'name of the handler (default: orders)')
    .option('--kind <kind>', 'typescript or json (default: typescript)')
    .option('--url <url>', 'of a handler in JSON: receives the batches')
    .option('--yes', 'ask nothing', false)
    .action(runs(init));

const KINDS: readonly string[] = ['typescript', 'json'] satisfies Project['kind'][];
const EXAMPLE_URL = 'https://api.example.com/orders:batch';

async function init(session: Session<Options>, given: string): Promise<void> {
  const project = await projectOf(session);
  const folder = session.path(given);
  const files = projectFiles(project);
  const existing = Object.keys(files).filter((name) => existsSync(path.join(folder, name)));
  if (existing.length > 0)
    throw new MusterError(
      'INVALID_FILE',
      `Cannot write ${existing.join(', ')} in ${folder}: there already. Nothing was written. Name another folder, or move them.`,
    );
  const hasManifest = existsSync(path.join(folder, 'package.json'));
  const all = hasManifest ? files : { ...files, 'package.json': manifestOf(project) };
  for (const [name, content] of Object.entries(all)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content, { flag: 'wx' });
  }
  const written = Object.keys(all).sort();
  const named = hasManifest ? packagesOf(path.join(folder, 'package.json')) : null;
  session.out.answer({ folder, written }, () => told(project, { folder: given, written, named }));
}

/** Returns the names of the packages that a package.json names. */
const packagesOf = (file: string): string[] => {
  try {
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as Partial<Record<string, object>> | null;
    return ['dependencies', 'devDependencies'].flatMap((kind) => Object.keys(manifest?.[kind] ?? {}));
  } catch {
    return []; // npm says what is wrong with it
  }
};

const projectOf = async (session: Session<Options>): Promise<Project> => {
  const { handler, kind, url, yes } = session.options;
  const questions = new Questions(session.surroundings, !yes && !session.out.json);
  try {
    const name = await questions.ask('Name of the handler', handler, 'orders');
    if (!HANDLER_NAME.test(name))
      throw new InvalidArgumentError('--handler', 'lower-case letters, digits and dashes, at most 63', name);
    const chosen = await questions.ask('typescript, or json for a downstream that needs no code', kind, 'typescript');
    if (!KINDS.includes(chosen)) throw new InvalidArgumentError('--kind', 'typescript or json', chosen);
    const to = chosen === 'json' ? await questions.ask('URL that takes the batches', url, EXAMPLE_URL) : EXAMPLE_URL;
    if (!URL.canParse(to) || !/^https?:/.test(to)) throw new InvalidArgumentError('--url', 'an http or https URL', to);
    return { handler: name, kind: chosen as Project['kind'], url: to, versions: versions() };
  } finally {
    questions.close();
  }
};

const versions = (): Project['versions'] => {
  const { version, dependencies, peerDependencies } = ownManifest();
  return { ...dependencies, ...peerDependencies, 'temporal-muster': `^${version}` };
};

interface Done {
  folder: string;
  written: readonly string[];
  /** Packages that the package.json named which was there; null: it was written now. */
  named: readonly string[] | null;
}

const told = ({ kind, handler, versions: of }: Project, { folder, written, named }: Done): string => {
  const own = ['temporal-muster', ...PACKAGES.dev, ...(kind === 'typescript' ? ['jiti'] : [])];
  const missing = own.filter((name) => named?.includes(name) !== true).map((name) => `${name}@${of[name]}`);
  const install = named === null ? 'npm install' : `npm install ${missing.join(' ')}`;
  const test = named === null ? 'npm test' : `npx jiti handlers/${handler}.test.ts`;
  return [
    ...written.map((name) => `wrote ${path.join(folder, name)}`),
    '',
    'Next:',
    ...(folder === '.' ? [] : [`  cd ${folder}`]),
    ...(missing.length === 0 ? [] : [`  ${install}`]),
    `  npx muster try ${handler} --file tasks.ndjson          # the batches, without a server`,
    ...(kind === 'typescript' ? [`  ${test}`] : [`  npx muster certify muster.config.json ${handler}`]),
    '  npx muster dev                                       # Postgres, Temporal and a worker, on this machine',
    `  npx muster submit ${handler} --file tasks.ndjson --wait`,
  ].join('\n');
};
