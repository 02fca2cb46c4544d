import { readdirSync, readFileSync } from 'node:fs';

export interface ModuleProcessState {
  pid: number;
  /** Most memory that it had, in bytes. */
  peakBytes: number;
  /** Processor time that it used, in milliseconds. */
  cpuMs: number;
}

const MS_PER_TICK = 10;

/** Returns the processes of modules that a process has started. */
export const moduleProcessesOf = (parent: number): ModuleProcessState[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8');
        // Not by the name of its main thread, which Node leaves alone from 24 on.
        const isModule = readFileSync(`/proc/${name}/cmdline`, 'utf8').startsWith('muster-module');
        const isOurs = isModule && Number(/^PPid:\s+(\d+)/m.exec(status)![1]) === parent;
        const peakKb = /^VmHWM:\s+(\d+)/m.exec(status)?.[1]; // none: it has ended
        if (!isOurs || peakKb === undefined) return [];
        const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]!.split(' ');
        const cpuMs = (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
        return [{ pid: Number(name), peakBytes: Number(peakKb) * 1_024, cpuMs }];
      } catch {
        return []; // it has ended meanwhile
      }
    });
