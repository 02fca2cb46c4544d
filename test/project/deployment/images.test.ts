import { execFileSync } from 'node:child_process';
import { byDefault, services } from '../compose';
import { read, ROOT } from '../project';

/** Which images are run: each by its digest, which another one may replace. */

/** Node's lines with long-term support, and the day on which it ends. */
const SUPPORTED_UNTIL: Readonly<Record<string, string>> = { 22: '2027-04-30', 24: '2028-04-30' };

const dockerfile = read('Dockerfile');

test("the image's base is of a line of Node that was supported at this commit, and that engines allow", () => {
  const [, line = ''] =
    /^ARG NODE_IMAGE=node:(\d+)\.\d+\.\d+-bookworm-slim@sha256:[\da-f]{64}$/m.exec(dockerfile) ?? [];
  const args = ['-c', 'safe.directory=*', 'log', '-1', '--format=%cs'];
  const committed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  expect([line, SUPPORTED_UNTIL[line]! > committed]).toEqual([line, true]);
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  expect(Number(line)).toBeGreaterThanOrEqual(Number(/\d+/.exec(engines.node)![0]));
});

test('both stages are of the one image, by its digest, which a build argument replaces', () => {
  expect(dockerfile.match(/^FROM .*$/gm)).toEqual(['FROM ${NODE_IMAGE} AS build', 'FROM ${NODE_IMAGE}']);
  // An argument before the first FROM is what FROM may use.
  expect(dockerfile.indexOf('ARG NODE_IMAGE=')).toBeLessThan(dockerfile.indexOf('FROM '));
  const built = services.filter(([, { build }]) => build !== undefined);
  expect(built.map(([name]) => name).sort()).toEqual(['api', 'migrate', 'temporal-ui-door', 'worker']);
  const [, own] = /^ARG NODE_IMAGE=(.*)$/m.exec(dockerfile)!;
  for (const [, { build }] of built)
    expect(build).toEqual({ context: '.', args: { NODE_IMAGE: `\${NODE_IMAGE:-${own}}` } });
});

test.each(services.filter(([, { image }]) => !image!.startsWith('muster:')))(
  '%s: its image is a variable, by default with its whole version and digest',
  (_name, { image }) => {
    const [, variable, named = ''] = /^\$\{(\w+_IMAGE):-([^}]+)\}$/.exec(image!) ?? [];
    expect(byDefault(image!)).toBe(named);
    expect(named).toMatch(/^[\w/-]+:\d+\.\d+(?:\.\d+)?@sha256:[\da-f]{64}$/);
    expect(read('.env.example')).toContain(`#${variable}=${named}\n`);
  },
);

test('the steps of a release look the digests up', () => {
  const steps = read('docs/internals/releasing.md');
  expect(steps).toMatch(/docker buildx imagetools inspect node:22-bookworm-slim/);
  for (const command of ['npm run audit', 'npm run sbom']) expect(steps).toContain(command);
});
