/**
 * The guardian's program, for `node -e`: a string, so that it runs the same from dist/ and from
 * TypeScript under jest.
 *
 * It owns one server at a time and outlives its parent. When the parent says so, or is gone in any
 * way (the IPC channel closes even at SIGKILL), it stops the server, with SIGKILL after the grace,
 * removes the temporary directories and exits.
 *
 * It reads the server's output all the time, and drops what the parent does not take: a server must
 * never block on a log line because its parent is paused, nor die of a broken pipe when it should
 * shut down in order.
 */
export const GUARD_SOURCE = `
const { spawn } = require('node:child_process');
const { rmSync } = require('node:fs');
process.title = 'muster-guardian';
process.umask(0o077); // what its servers write is for their user alone
const remove = JSON.parse(process.argv[1]);
let server, ending = false, unsent = 0;

function send(message) {
  if (process.connected) process.send(message, () => {});
}
function output(text) {
  if (!process.connected || unsent > 256) return;
  unsent += 1;
  process.send({ output: text }, () => { unsent -= 1; });
}
function start({ file, args, options, stopSignal, graceMs }) {
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const current = (server = { child, stopSignal, graceMs });
  let over = false;
  const gone = (exit) => {
    if (over) return;
    over = true;
    clearTimeout(current.timer);
    server = undefined;
    send({ exit });
    if (ending) leave();
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', output);
  child.on('spawn', () => send({ pid: child.pid }));
  child.on('error', (error) => { if (child.pid === undefined) gone({ error: error.message }); });
  // 'close' comes when the server's own children have let go of the output too; they get a second.
  child.on('close', (code, signal) => gone({ code, signal }));
  child.on('exit', (code, signal) => setTimeout(gone, 1000, { code, signal }));
}
function stop() {
  const { child, stopSignal, graceMs, timer } = server;
  if (timer) return;
  child.kill(stopSignal);
  server.timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
}
function end() {
  ending = true;
  if (server) stop(); else leave();
}
function leave() {
  for (const path of remove) {
    try { rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }); } catch {}
  }
  process.exit(0);
}
process.on('message', (message) => {
  if (message.remove) remove.push(message.remove);
  if (message.start && !ending) start(message.start);
  if (message.end) end();
});
process.on('disconnect', end);
process.on('SIGTERM', end);
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
`;
