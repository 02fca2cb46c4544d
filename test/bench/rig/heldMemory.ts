import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded before a measured process (`--require`): at each SIGUSR2 it collects garbage and writes
 * how many bytes are still held, and for the how manieth time, to a file.
 */
const file = process.env['BENCH_HELD_FILE'];
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
let times = 0;
if (file !== undefined)
  process.on('SIGUSR2', () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(`${file}.new`, JSON.stringify({ times: ++times, bytes: heapUsed + external }));
    renameSync(`${file}.new`, file);
  });
