import path from 'node:path';
import { mkdirSync, readFileSync } from 'node:fs';
import { difference } from '../../newcomer/compare';
import type { Step } from '../../newcomer/page';
import { readPage } from '../../newcomer/page';
import { read } from '../../project/project';
import type { CliProcess } from '../process';
import type { World } from '../world';
import { createWorld } from '../world';

/**
 * The first sections of docs/tutorial.md, run as they stand there: what needs no installation. The
 * whole page is `npm run test:newcomer`.
 *
 * @slow
 */

const LAST = '7. Let one fail';
const page = readPage(read('docs/tutorial.md'));
const steps = page.slice(0, page.findLastIndex(({ section }) => section === LAST) + 1);
const texts = (kind: 'file' | 'is') => steps.flatMap((step) => (step.kind === kind ? [step] : []));

let world: World;
let worker: CliProcess;
beforeAll(async () => {
  world = await createWorld();
  mkdirSync(path.join(world.folder, 'handlers'));
  for (const { name, text } of [...texts('is'), ...texts('file')]) world.write(name, text);
  worker = await world.worker();
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.exit;
  await world.close();
});

/** What the terminal shows of one line of commands. */
const shell = async (line: string): Promise<string> => {
  const [, content, file] = /^echo '(.*)' > (\S+)$/.exec(line) ?? [];
  if (file !== undefined) {
    world.write(file, content!);
    return '';
  }
  const [, command, orElse] = /^npx muster (.*?)(?: +\|\| (.*?))?(?: +#.*)?$/.exec(line) ?? [];
  if (command === undefined) throw new Error(`expected a command of muster, got ${line}`);
  const { code, stdout, stderr } = await world.run(command);
  if (orElse === undefined) expect([line, code]).toEqual([line, 0]);
  return stderr + stdout + (orElse === undefined ? '' : `exit code ${code}\n`);
};

type Run = Extract<Step, { kind: 'run' }>;
const commands = steps.filter((step): step is Run => step.kind === 'run' && /^(npx muster|echo)/.test(step.commands));

test('the tutorial shows what its commands print', async () => {
  expect(commands.length).toBeGreaterThan(5);
  for (const { commands: lines, output, line } of commands.filter(({ commands: one }) => !one.includes('init'))) {
    let printed = '';
    for (const one of lines.split('\n')) printed += await shell(one);
    expect([line, output === null ? null : difference(output, printed)]).toEqual([line, null]);
  }
  for (const step of steps)
    if (step.kind === 'says') for (const line of step.text.split('\n')) await worker.says(new RegExp(line));
});

test('the tutorial shows the files that muster init writes', async () => {
  const { code } = await world.run('init fresh --yes');
  expect(code).toBe(0);
  expect(texts('is').length).toBeGreaterThan(1);
  for (const { name, text } of texts('is'))
    expect(readFileSync(path.join(world.folder, 'fresh', name), 'utf8')).toBe(text);
});
