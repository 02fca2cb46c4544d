import { closeSync, openSync } from 'node:fs';
import pino from 'pino';
import type { Logger } from 'pino';
import { createLogger } from '../logging';
import type { LogLevel } from '../config/settingsSchema';

const WARN = 40;
const NAMES: Readonly<Record<number, string>> = { 40: 'warning', 50: 'error', 60: 'fatal' };
const OURS = new Set([
  'level',
  'time',
  'pid',
  'msg',
  'err',
  'sdkComponent',
  'workflowType',
  'runId',
  'namespace',
  'attempt',
  'isLocal',
]);

export interface DevLog {
  logger: Logger;
  file: string;
  close(): void;
}

/**
 * Writes all of it as JSON into a file, begun anew at each start; warnings and worse are also shown
 * at the terminal, one line each.
 */
export const openDevLog = (file: string, level: LogLevel, say: (line: string) => void): DevLog => {
  const fd = openSync(file, 'w', 0o600);
  let open = true;
  const toPerson = {
    write: (line: string): void => {
      const {
        level: code,
        msg,
        err,
        time,
        ...rest
      } = JSON.parse(line) as { level: number; msg?: string; time: string; err?: { message?: string } };
      if (code < WARN || !open) return;
      const details = Object.entries(rest).filter(([name]) => !OURS.has(name));
      const shown = details
        .slice(0, 4)
        .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
      say(
        [
          time.slice(11, 19),
          NAMES[code] ?? 'warning',
          msg ?? '',
          err?.message === undefined ? '' : `(${err.message})`,
          ...shown,
        ]
          .filter((part) => part !== '')
          .join(' '),
      );
    },
  };
  const streams = pino.multistream([
    { level: level === 'silent' ? 'fatal' : level, stream: pino.destination({ fd, sync: true }) },
    { level: 'warn', stream: toPerson },
  ]);
  return {
    logger: createLogger(level, streams),
    file,
    close: () => {
      open = false;
      closeSync(fd);
    },
  };
};
