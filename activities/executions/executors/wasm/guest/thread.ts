import { encodeFrame } from './frames';
import { readFrame, writeFrame } from './channel';
import { checkImports, describe, runOnce } from './run';
import type { Call } from './run';
import { WebAssembly } from './webAssembly';

/**
 * The thread of a module's process: compiles the module that it is given first, then runs it as
 * often as it is asked to.
 */

/** Memory that runs may leave behind before it is collected. */
const LEFT_BYTES = 64 * 1_048_576;

// Node 20 and 22 cannot tell the processor time of one thread.
const { threadCpuUsage } = process as { threadCpuUsage?: () => { user: number; system: number } };
const cpuMs = (): number | undefined => {
  if (threadCpuUsage === undefined) return undefined;
  const { user, system } = threadCpuUsage.call(process);
  return (user + system) / 1_000;
};
/** By `--expose-gc`. */
const { gc } = globalThis as unknown as { gc: () => void };

const compile = () => {
  const given = readFrame();
  if (given === null) return null;
  try {
    const module = new WebAssembly.Module(given.first);
    checkImports(module);
    writeFrame(encodeFrame({}));
    return module;
  } catch (error) {
    writeFrame(encodeFrame({ error: describe(error) }));
    return null;
  }
};

const serve = (): void => {
  const module = compile();
  if (module === null) return;
  let left = 0;
  for (let frame = readFrame(); frame !== null; frame = readFrame()) {
    const { answer, stdout, stderr } = runOnce(module, frame.head as Call, cpuMs);
    writeFrame(encodeFrame(answer, stdout, stderr));
    // While the node reads the answer: the memory of the run would count as the next one's.
    left += answer.memoryBytes ?? 0;
    if (left >= LEFT_BYTES) {
      gc();
      left = 0;
    }
  }
};

serve();
