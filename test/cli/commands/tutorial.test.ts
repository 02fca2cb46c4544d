import { read } from '../../project/project';
import type { CliProcess } from '../process';
import type { World } from '../world';
import { createWorld } from '../world';

/** The files and commands of docs/tutorial.md, run as they stand there. */

const tutorial = read('docs/tutorial.md');
const blocks = (language: string): string[] =>
  [...tutorial.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(([, text]) => text!);
/** The time that it took varies. */
const steady = (text: string): string => text.replace(/^(after +).*$/gm, '$1?').trim();
const shown = blocks('text').map(steady);

let world: World;
let worker: CliProcess;
beforeAll(async () => {
  world = await createWorld();
  world.write('muster.config.ts', blocks('ts')[0]!);
  world.write('orders.ndjson', blocks('json')[0]!);
  world.write('bad.ndjson', /echo '(.*)' > bad\.ndjson/.exec(tutorial)![1]!);
  worker = await world.worker();
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.exit;
  await world.close();
});

/** What the terminal shows of commands that the tutorial has. */
const run = async (...commands: string[]): Promise<string> => {
  let text = '';
  for (const command of commands) {
    expect(tutorial).toContain(`npx muster ${command}`);
    const { stdout, stderr } = await world.run(command);
    text += stderr + stdout;
  }
  return steady(text);
};

test('the tutorial shows what its commands print', async () => {
  const submit = 'submit orders --file orders.ndjson';
  expect(shown).toContain(await run('try orders --file orders.ndjson'));
  expect(shown).toContain(await run(`${submit} --wait`));
  expect(shown).toContain(await run(submit));
  expect(shown).toContain(await run('submit orders --file bad.ndjson --wait', 'explain order-4'));
  const calls = shown.find((text) => text.startsWith('one call for'))!.split('\n');
  for (const call of calls) await worker.says(new RegExp(call));
});
