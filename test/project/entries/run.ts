import { numberFlag, processFlags } from '../../../examples/support/flags';
import { runToEnd } from '../../helpers/runToEnd';
import { installedSize, packedBytes } from '../supply/size';
import { readEntries } from './entries';
import { requireEntry } from './loaded';
import type { Row } from './table';
import { showTable } from './table';

/** `npm run bench:entries`: the table of docs/client.md. */
const flags = processFlags(
  {
    name: 'npm run bench:entries --',
    summary:
      'Measures each entry of package.json: installed size by the lock file, modules loaded, CPU time of an import.',
    result: 'The table of docs/client.md. Build first.',
    examples: ['', '--starts 9'],
  },
  { starts: numberFlag(5, { text: 'imports per entry, each in a new process; the median counts', min: 1 }) },
);

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

runToEnd(async () => {
  const packed = await packedBytes();
  const rows: Row[] = [];
  for (const { name, peers } of readEntries()) {
    const times: number[] = [];
    let modules = 0;
    for (let start = 0; start < flags.starts; start += 1) {
      const loaded = await requireEntry(name);
      times.push(loaded.ms);
      modules = loaded.modules;
    }
    rows.push({ name, ...installedSize(peers, packed), modules, ms: median(times) });
  }
  process.stdout.write(`Node ${process.version}, ${process.platform}:\n\n${showTable(rows)}\n`);
});
