import path from 'node:path';
import type { Settings } from '../config/config';
import { FileWatch } from './fileWatch';
import { forget, userModules } from './modules';

export interface ReloadOptions {
  cwd: string;
  /** Reads the config file and everything that it names anew. Rejects with what is wrong. */
  load(): Promise<Settings>;
  /** Puts what these settings say in the place of what runs; rejects, and then nothing runs. */
  replace(settings: Settings): Promise<void>;
  /** Nothing runs any more. */
  failed(error: Error): void;
  say(line: string): void;
}

/**
 * Reloads on each save of the config file or of a module that it has imported: the new code is
 * loaded first, and only if that succeeds replaces what runs.
 */
export class Reload {
  private readonly watch = new FileWatch(() => void this.saved());
  private working: Promise<void> | null = null;
  private again = false;
  private broken = false;
  private begun = false;
  private stopped = false;

  constructor(
    private readonly options: ReloadOptions,
    private settings: Settings,
    /** Unix milliseconds before the settings were read. */
    readSince: number,
  ) {
    this.watch.add(this.files(), readSince);
  }

  /** Reloads what was saved since the settings were loaded, and from now on each save. */
  begin(): void {
    this.begun = true;
    this.saved();
  }

  /** Waits for a replacement that has begun; none follows. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.watch.stop();
    await this.working;
  }

  private files(): string[] {
    const { config } = this.settings;
    return [...(config === null ? [] : [config]), ...userModules()];
  }

  private saved(): void {
    if (!this.begun) return;
    this.again = true;
    this.working ??= this.work().finally(() => (this.working = null));
  }

  private async work(): Promise<void> {
    while (this.again && !this.stopped) {
      this.again = false;
      // What is missing may be a file that was not known: then any change is reason enough.
      if (this.broken || this.watch.hasChanged()) await this.reload();
    }
  }

  private async reload(): Promise<void> {
    const { say, load } = this.options;
    const begun = Date.now();
    this.watch.see();
    forget(userModules());
    let settings: Settings;
    try {
      settings = await load();
    } catch (error) {
      this.broken = true;
      this.watch.add(this.files(), begun);
      return say(`Not reloaded, the code of before goes on. ${(error as Error).message}`);
    }
    this.broken = false;
    const before = this.settings;
    this.settings = settings;
    this.watch.add(this.files(), begun);
    if (!(await this.replaceBy(settings, before))) return;
    const names = settings.handlers.map(({ name }) => name).join(', ');
    const file = path.relative(this.options.cwd, settings.config ?? '');
    say(`Reloaded ${file} in ${Date.now() - begun} ms: ${names}`);
  }

  private async replaceBy(settings: Settings, before: Settings): Promise<boolean> {
    const { replace, failed, say } = this.options;
    try {
      await replace(settings);
      return true;
    } catch (error) {
      if (this.stopped) return false;
      say(`Not reloaded, back to the code of before. ${(error as Error).message}`);
    }
    this.settings = before;
    await replace(before).catch(failed);
    return false;
  }
}
