/**
 * The program of a thread that runs modules, for `new Worker(source, { eval: true })`: a string, so
 * that it runs the same from dist/ and from TypeScript under jest.
 *
 * It runs one module, run after run: each in a fresh instance. A run has its arguments, its
 * variables, an empty standard input, and two outputs that are kept up to a limit; no folder, no
 * socket. What waits inside the module (poll_oneoff) waits where the thread can be ended.
 */
export const THREAD_SOURCE = `
const { parentPort, workerData } = require('node:worker_threads');
const { WASI } = require('node:wasi');
const { openSync, devNull } = { ...require('node:fs'), ...require('node:os') };
const EBADF = 8, EINVAL = 28, ENOTSUP = 58;
const nothing = openSync(devNull, 'r+');
const sleeping = new Int32Array(new SharedArrayBuffer(4));

function run({ args, env, stdoutBytes, stderrBytes }) {
  const wasi = new WASI({ version: 'preview1', args, env, preopens: {}, returnOnExit: true, stdin: nothing, stdout: nothing, stderr: nothing });
  const outputs = { 1: { parts: [], kept: 0, limit: stdoutBytes, total: 0 }, 2: { parts: [], kept: 0, limit: stderrBytes, total: 0 } };
  let memory;
  const view = () => new DataView(memory.buffer);

  function fd_write(fd, iovs, count, written) {
    const output = outputs[fd];
    if (!output) return EBADF;
    const data = view();
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const at = data.getUint32(iovs + 8 * i, true), length = data.getUint32(iovs + 8 * i + 4, true);
      if (at + length > memory.buffer.byteLength) return EINVAL;
      const room = Math.min(length, output.limit + 1 - output.kept);
      if (room > 0) { output.parts.push(Buffer.from(memory.buffer.slice(at, at + room))); output.kept += room; }
      output.total += length;
      sum += length;
    }
    data.setUint32(written, sum, true);
    return 0;
  }
  function fd_read(fd, iovs, count, read) {
    if (fd !== 0) return EBADF;
    view().setUint32(read, 0, true);
    return 0;
  }
  // Clocks only: a subscription is 48 bytes, an event 32.
  function poll_oneoff(subscriptions, events, count, happened) {
    const data = view();
    let soonest = Infinity, which = 0;
    for (let i = 0; i < count; i++) {
      const at = subscriptions + 48 * i;
      if (data.getUint8(at + 8) !== 0) return ENOTSUP;
      const absolute = data.getUint16(at + 40, true) & 1;
      const nanos = Number(data.getBigUint64(at + 24, true));
      const now = data.getUint32(at + 16, true) === 0 ? Date.now() : Number(process.hrtime.bigint()) / 1e6;
      const ms = absolute ? nanos / 1e6 - now : nanos / 1e6;
      if (ms < soonest) { soonest = ms; which = at; }
    }
    if (count === 0) return EINVAL;
    if (soonest > 0) Atomics.wait(sleeping, 0, 0, soonest);
    const after = view();
    after.setBigUint64(events, after.getBigUint64(which, true), true);
    after.setUint16(events + 8, 0, true);
    after.setUint8(events + 10, 0);
    after.setUint32(happened, 1, true);
    return 0;
  }
  const text = (output) => {
    const whole = Buffer.concat(output.parts).toString();
    return { text: whole, total: output.total };
  };
  // Node 20 and 22 cannot tell the processor time of one thread.
  const cpuMs = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000; };
  const before = process.threadCpuUsage ? cpuMs() : undefined;
  const used = () => ({
    ...(before === undefined ? {} : { cpuMs: cpuMs() - before }),
    ...(memory instanceof WebAssembly.Memory ? { memoryBytes: memory.buffer.byteLength } : {}) });
  const ended = (more) => ({ stdout: text(outputs[1]), stderr: text(outputs[2]), ...used(), ...more });
  let instance;
  try {
    instance = new WebAssembly.Instance(workerData.module, { wasi_snapshot_preview1: { ...wasi.wasiImport, fd_write, fd_read, poll_oneoff } });
    memory = instance.exports.memory;
    if (!(memory instanceof WebAssembly.Memory)) throw new Error('it exports no memory');
    if (typeof instance.exports._start !== 'function') throw new Error('it exports no _start: it is no command');
  } catch (error) {
    return ended({ exitCode: null, error: 'the module cannot be started: ' + error.message });
  }
  try {
    return ended({ exitCode: wasi.start(instance) ?? 0 });
  } catch (error) {
    return ended({ exitCode: null, error: 'the module broke off: ' + error.message });
  }
}
parentPort.on('message', (call) => parentPort.postMessage(run(call)));
`;
