import { spawn } from 'node:child_process';
import { statSync, watch } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { readPages, writePages } from './pages/stage';

/** `npm run docs` and `npm run docs:dev`: the documentation as a site. */

const ROOT = path.join(__dirname, '..');
const PAGES = path.join(__dirname, '.pages');
/** Where typedoc.json has TypeDoc write. */
const REFERENCE = 'reference/typescript';
const LOCK = path.join(__dirname, 'package-lock.json');
const INSTALLED = path.join(__dirname, 'node_modules', '.package-lock.json');

const say = (text: string): void => void process.stdout.write(`docs: ${text}\n`);

const run = (command: string, args: readonly string[], cwd = __dirname): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`Cannot go on: ${command} ${args.join(' ')} ended with ${code ?? signal}.`));
    });
  });
/** Runs a program of the site's own packages. */
const tool = (name: string, ...args: string[]): Promise<void> =>
  run(path.join(__dirname, 'node_modules', '.bin', name), args);

const modified = (place: string): number => statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const install = async (): Promise<void> => {
  if (modified(INSTALLED) >= modified(LOCK)) return say('1/4 the site’s packages are installed');
  say('1/4 installing the site’s packages into site/node_modules: about a minute, once');
  await run('npm', ['ci', '--prefix', __dirname], ROOT);
};

const stage = (): number => {
  const pages = readPages(ROOT);
  writePages(pages, PAGES, REFERENCE);
  return pages.pages.size;
};

const reference = async (): Promise<void> => {
  say('3/4 the reference of the public types: about half a minute; an export without a comment ends it');
  await tool('typedoc', '--options', 'typedoc.json');
  say('3/4 every public export is documented');
};

const build = async ({ base }: { base: string }): Promise<void> => {
  await install();
  say(`2/4 ${stage()} pages of docs/ and of what it links to`);
  await reference();
  say('4/4 the site: about a minute; a link that leads nowhere ends it');
  await tool('vitepress', 'build', '--base', base);
  say('done: site/dist, for any server of files (npm run docs:preview)');
};

const dev = async ({ port }: { port: string }): Promise<void> => {
  await install();
  say(`2/4 ${stage()} pages of docs/ and of what it links to`);
  if (modified(path.join(PAGES, REFERENCE, 'index.md')) > 0) say('3/4 the reference is there (npm run docs renews it)');
  else await reference();
  watch(path.join(ROOT, 'docs'), { recursive: true }, () => {
    try {
      stage();
    } catch (error) {
      say(String(error)); // half an edit: the next one may mend it
    }
  });
  say('4/4 serving; a change of docs/ shows at once. Ctrl-C ends it');
  await tool('vitepress', 'dev', '--port', port);
};

const preview = ({ port }: { port: string }): Promise<void> => tool('vitepress', 'preview', '--port', port);

const program = new Command('npm run docs').description('Makes the documentation as a site.');
program
  .command('build', { isDefault: true })
  .description('Write the site into site/dist (npm run docs)')
  .option('--base <path>', 'path under which it will be served', '/')
  .action(build);
program
  .command('dev')
  .description('Serve the pages of docs/ as they are edited (npm run docs:dev)')
  .option('--port <number>', 'of the loopback interface', '5173')
  .action(dev);
program
  .command('preview')
  .description('Serve what the last build wrote (npm run docs:preview)')
  .option('--port <number>', 'of the loopback interface', '4173')
  .action(preview);

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
