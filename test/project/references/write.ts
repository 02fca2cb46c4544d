import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../project';
import { REFERENCES, referenceText } from './references';

/** `npm run docs:reference`: writes docs/reference from the code. */
const write = async (): Promise<void> => {
  for (const file of Object.keys(REFERENCES)) {
    writeFileSync(path.join(ROOT, file), await referenceText(file));
    console.log(`wrote ${file}`);
  }
};

write().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
