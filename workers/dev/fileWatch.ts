import { readFileSync, statSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import path from 'node:path';

/** An editor writes a file in several steps: they are one save. */
const SETTLE_MS = 150;
/** Times of files come from a clock that may be behind by so much. */
const FILE_CLOCK_MS = 20;

/**
 * Watches files through their folders, since an editor may replace a file, and calls `onSave` after
 * something happened in one of the folders; what has changed is asked of `hasChanged`.
 */
export class FileWatch {
  private readonly folders = new Map<string, FSWatcher>();
  /** As they were read last; undefined: what was read is not known. */
  private contents = new Map<string, string | null | undefined>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onSave: () => void) {}

  /**
   * Adds files that were read at some time after `since` (Unix milliseconds): one that was saved
   * after it counts as changed, since it may have been read before. Of files that are known
   * already, the content seen last stays.
   */
  add(files: readonly string[], since: number): void {
    for (const file of files) {
      if (!this.contents.has(file)) this.contents.set(file, savedAfter(file, since) ? undefined : contentOf(file));
      const folder = path.dirname(file);
      if (this.folders.has(folder)) continue;
      const watcher = this.watchFolder(folder);
      if (watcher !== null) this.folders.set(folder, watcher);
    }
  }

  hasChanged(): boolean {
    return [...this.contents].some(([file, content]) => contentOf(file) !== content);
  }

  /** Takes the files as they are now for seen. */
  see(): void {
    this.contents = new Map([...this.contents.keys()].map((file) => [file, contentOf(file)]));
  }

  stop(): void {
    clearTimeout(this.timer);
    for (const watcher of this.folders.values()) watcher.close();
  }

  /** Null: the folder is gone, and its files with it. */
  private watchFolder(folder: string): FSWatcher | null {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.settle());
      watcher.on('error', () => undefined); // the folder is gone; its files have changed, too
      return watcher;
    } catch {
      return null;
    }
  }

  private settle(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.onSave(), SETTLE_MS);
  }
}

const savedAfter = (file: string, since: number): boolean =>
  (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > since - FILE_CLOCK_MS;

const contentOf = (file: string): string | null => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
};
