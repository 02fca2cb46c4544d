import { refusedLicences } from './licences';
import { productionPackages } from './lock';

/** `npm run lint:licences`: by package-lock.json alone, so without a network. */

const packages = productionPackages();
const refused = refusedLicences(packages);
if (refused.length > 0) {
  process.stderr.write(
    `Cannot allow the licences of ${refused.length} production packages:\n  ${refused.join('\n  ')}\n` +
      'Use another package, or judge its licence in test/project/supply/licences.ts.\n',
  );
  process.exitCode = 1;
} else process.stdout.write(`${packages.length} production packages, each with a licence that is allowed\n`);
