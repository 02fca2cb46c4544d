import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { processFlags } from '../../examples/support/flags';
import { runToEnd } from '../helpers/runToEnd';
import { ROOT } from '../project/project';
import { installLocked, installPackage } from '../userProjects/install';

/** `npm run test:nestjs`: the example of a NestJS application, on the package as it is packed. */
processFlags(
  {
    name: 'npm run test:nestjs --',
    summary:
      'Runs the NestJS example on real servers; NestJS is installed into examples/nestjs when missing. Build first.',
    result: 'The tests. Exit code 1 if one fails, or a type does not fit.',
    examples: [''],
  },
  {},
);

const EXAMPLE = path.join(ROOT, 'examples', 'nestjs');

const run = (command: string, args: readonly string[]): void => {
  const { status, error } = spawnSync(command, args, { cwd: EXAMPLE, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`Cannot go on: ${command} ${args.join(' ')} ended with ${status}.`);
};
const bin = (name: string): string => path.join(ROOT, 'node_modules', '.bin', name);

runToEnd(async () => {
  await installLocked(EXAMPLE);
  await installPackage(EXAMPLE);
  run(bin('tsc'), ['-p', '.']);
  run(bin('jest'), ['--ci']);
});
