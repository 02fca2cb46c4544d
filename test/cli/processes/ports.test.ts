import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CliProcess } from '../process';
import { killLeftovers, runProcess, startCli } from '../process';
import { CONFIG, makeFolder } from '../world';

/** The only test that takes the usual ports, for as long as it runs: it is about them. @full */

const folder = makeFolder();
const own = (name: string): string => {
  const cwd = path.join(folder, name);
  mkdirSync(cwd);
  writeFileSync(path.join(cwd, 'muster.config.ts'), CONFIG);
  return cwd;
};
afterAll(() => {
  killLeftovers();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
});

interface Ready {
  temporal: { address: string; uiUrl: string };
  database: string;
}
const portsOf = (dev: CliProcess): string[] => {
  const { temporal, database } = JSON.parse(dev.stdout()) as Ready;
  return [temporal.address, temporal.uiUrl, database].map((address) => /:(\d+)(\/\w*)?$/.exec(address)![1]!);
};

test('two at once have ports of their own, and say so; a port that is asked for and taken is an error that names it [Build 7]', async () => {
  const devs = ['a', 'b'].map((name) => startCli(['dev', '--json'], { cwd: own(name) }));
  await Promise.all(devs.map((dev) => dev.says(/"ready":true/)));
  const ports = devs.map(portsOf);
  expect(new Set(ports.flat()).size).toBe(6);
  for (const [i, usual] of ['7233', '8233', '5433'].entries())
    for (const [j, dev] of devs.entries())
      if (ports[j]![i] !== usual)
        expect(dev.stderr()).toMatch(new RegExp(`Port ${usual} is taken: .* is at .*:${ports[j]![i]}`));
  const [temporal, ui, database] = ports[0]!;
  await Promise.all(
    Object.entries({ temporal, ui, database }).map(async ([flag, port]) => {
      const refused = await runProcess(['dev', '--json', `--${flag}-port`, port!], { cwd: own(flag) });
      expect(refused.code).toBe(3);
      expect(refused.stderr).toContain(`--${flag}-port: expected a free port on 127.0.0.1, got ${port}`);
    }),
  );
  for (const dev of devs) dev.child.kill('SIGINT');
  expect(await Promise.all(devs.map((dev) => dev.exit))).toEqual([0, 0]);
});
