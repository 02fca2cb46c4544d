import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import path from 'node:path';

/** A small disk in memory, so that it can be full without the machine's being so. */
export class Disk {
  private constructor(readonly folder: string) {}

  /** Only root may mount, and not everywhere. */
  static canMount(folder: string): boolean {
    try {
      Disk.mount(folder, 1_000_000).unmount();
      return true;
    } catch {
      return false;
    }
  }

  /** Throws where it may not. */
  static mount(folder: string, bytes: number): Disk {
    mkdirSync(folder, { recursive: true });
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder], { stdio: 'pipe' });
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
    chmodSync(folder, 0o711);
    return new Disk(folder);
  }

  private get filler(): string {
    return path.join(this.folder, 'filler');
  }

  /** Takes all that is free. Returns the bytes. */
  fill(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    execFileSync('fallocate', ['-l', String(bavail * bsize), this.filler], { stdio: 'pipe' });
    return bavail * bsize;
  }

  empty(): void {
    rmSync(this.filler, { force: true });
  }

  unmount(): void {
    execFileSync('umount', [this.folder], { stdio: 'pipe' });
    rmSync(this.folder, { recursive: true });
  }
}
