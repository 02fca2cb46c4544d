import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { runToEnd } from '../../helpers/runToEnd';
import { ROOT } from '../project';

/**
 * `npm run lint:package`: what `npm pack` makes of dist/ as it stands, judged as npm's users will
 * import it: by publint, and by attw for the types of each entry.
 */

const run = promisify(execFile);
const bin = (name: string): string => path.join(ROOT, 'node_modules', '.bin', name);

const main = async (): Promise<void> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-package-'));
  try {
    // Without scripts: `prepare` would build again.
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
      cwd: ROOT,
      maxBuffer: 16e6,
    });
    const [{ filename }] = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>) as [
      { filename: string },
    ];
    const packed = path.join(folder, filename);
    for (const [checker, args] of [
      ['publint', ['run', packed, '--strict']],
      // node16: what Node resolves by itself. The oldest resolution knows no entries.
      ['attw', [packed, '--profile', 'node16', '--format', 'table-flipped']],
    ] as const) {
      const failed = await run(bin(checker), args, { env: { ...process.env, FORCE_COLOR: '0' } }).then(
        () => null,
        (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
      );
      process.stdout.write(`${checker}: ${failed === null ? 'nothing to mend' : 'see below'}\n`);
      if (failed === null) continue;
      process.stderr.write(`${failed}\nCannot publish the package like this. Mend package.json, or what it exports.\n`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
};

runToEnd(main);
