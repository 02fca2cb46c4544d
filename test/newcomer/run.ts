import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { processFlags, switchFlag } from '../../examples/support/flags';
import { isCurrent } from '../../workers/buildState';
import { timeSkippingServerBinary } from '../embedded/timeSkippingServer';
import { runToEnd } from '../helpers/runToEnd';
import { findPgBouncer } from '../pooler/pgbouncer';
import { read, ROOT } from '../project/project';
import { difference } from './compare';
import type { Step } from './page';
import { readPage } from './page';
import { Terminals } from './terminals';

/** `npm run test:newcomer`: does what docs/tutorial.md says, from an empty folder. */
const flags = processFlags(
  {
    name: 'npm run test:newcomer --',
    summary: 'Does what docs/tutorial.md says, in an empty folder, and compares what is printed with what it shows.',
    result: 'A transcript. Exit code 1 if a command fails, or prints something else. Needs the package registries.',
    examples: ['', '--keep'],
  },
  { keep: switchFlag('keep the folder at the end') },
);
const PAGE = 'docs/tutorial.md';
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** As of a user who has not begun: no setting of Muster's, nothing of the `npm run` around it. */
const environment = (more: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const isOurs = (name: string): boolean =>
    /^(MUSTER_|TEMPORAL_|PG|npm_(?!config_)|npm_config_(local_prefix|loglevel)$|INIT_CWD|SHOP_)/.test(name);
  const kept = Object.entries(process.env).filter(([name]) => !isOurs(name));
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const PATH = folders.filter((folder) => !folder.includes('node_modules')).join(path.delimiter);
  return { ...Object.fromEntries(kept), PATH: `${PATH}${path.delimiter}/usr/sbin`, ...more };
};

const expectText = (terminals: Terminals, { name, text }: { name: string; text: string }): void => {
  const there = readFileSync(path.join(terminals.folder, name), 'utf8');
  if (there !== text) throw new Error(`The page shows another ${name} than the one that is there:\n\n${there}`);
};

const take = async (terminals: Terminals, step: Step): Promise<void> => {
  switch (step.kind) {
    case 'file': {
      const file = path.join(terminals.folder, step.name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, step.text);
      return say(`(${step.name} is written)`);
    }
    case 'is':
      return expectText(terminals, step);
    case 'stays':
      say(`$ ${step.commands}    (stays, in a terminal "${step.name}")`);
      return terminals.stay(step.name, step.commands, step.until);
    case 'says':
      await terminals.says(step.name, step.text);
      return say(`(terminal "${step.name}" shows)\n${step.text}`);
    case 'ends':
      await terminals.end(step.name);
      return say(`(Ctrl-C in terminal "${step.name}")`);
    case 'run': {
      say(step.commands.replaceAll(/^/gm, '$ '));
      const printed = await terminals.run(step.commands);
      say(printed.trimEnd());
      const differs = step.output === null ? null : difference(step.output, printed);
      if (differs !== null) throw new Error(differs);
    }
  }
};

const follow = async (terminals: Terminals, steps: readonly Step[]): Promise<void> => {
  const hasPooler = findPgBouncer() !== null;
  let section = '';
  for (const step of steps) {
    if (step.section !== section) say(`\n## ${(section = step.section)}\n`);
    if (step.needs === 'pgbouncer' && !hasPooler) {
      say(`(line ${step.line}: left out, since there is no pgbouncer on this machine)`);
      continue;
    }
    try {
      await take(terminals, step);
    } catch (error) {
      throw new Error(`${PAGE}, line ${step.line}: ${(error as Error).message}`, { cause: error });
    }
  }
};

runToEnd(async () => {
  const steps = readPage(read(PAGE));
  if (!isCurrent(ROOT, 'sources')) execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit' });
  const { path: testServer } = await timeSkippingServerBinary();
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-newcomer-'));
  chmodSync(folder, 0o755); // what does not run as root reads files in it
  symlinkSync(ROOT, path.join(folder, 'muster'));
  const begun = performance.now();
  const terminals = new Terminals(folder, environment({ TEMPORAL_TEST_SERVER: testServer, CI: '1' }));
  try {
    await follow(terminals, steps);
  } finally {
    await terminals.close();
    if (flags.keep) say(`\nKept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
  say(`\nThe page is true: ${steps.length} steps in ${Math.round((performance.now() - begun) / 1_000)} s.`);
});
