import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../project';
import { makeSbom } from './sbom';

/** `npm run sbom`: writes sbom.cdx.json, which is not committed. */

const FILE = 'sbom.cdx.json';

void makeSbom().then((sbom) => {
  writeFileSync(path.join(ROOT, FILE), `${JSON.stringify(sbom, null, 2)}\n`);
  process.stdout.write(`${FILE}: ${sbom.components.length} packages\n`);
});
