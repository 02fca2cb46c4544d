import { spawn } from 'node:child_process';

const SOURCE = `
const pids = new Set();
process.on('message', ({ track, forget }) => { if (track) pids.add(track); if (forget) pids.delete(forget); });
process.on('disconnect', () => { for (const pid of pids) { try { process.kill(pid, 'SIGKILL'); } catch {} } process.exit(0); });
process.on('SIGINT', () => undefined);
`;

/**
 * Ends the harness's children when the harness itself ends in whatever way: a stopped process
 * cannot see that its parent is gone.
 */
export class Reaper {
  private readonly process = spawn(process.execPath, ['-e', SOURCE], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    detached: true,
  });

  constructor() {
    this.process.unref();
    this.process.channel?.unref();
  }
  track(pid: number): void {
    this.process.send({ track: pid }, () => undefined);
  }
  forget(pid: number): void {
    if (this.process.connected) this.process.send({ forget: pid }, () => undefined);
  }
  end(): void {
    if (this.process.connected) this.process.disconnect();
  }
}
