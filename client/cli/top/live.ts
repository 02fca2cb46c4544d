import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderKey } from './rows';
import { isOrderKey } from './rows';

/** A terminal: what is drawn on, and where keys come from. */
export interface Terminal {
  out: NodeJS.WritableStream & { rows?: number };
  keys: NodeJS.ReadableStream & { setRawMode?: (mode: boolean) => unknown };
}

const REFRESH_MS = 2_000;
/** Without a cursor, and without going on in the next line where one is too long. */
const ANOTHER_SCREEN = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const OLD_SCREEN = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';
const CTRL_C = '\u0003';

/**
 * Draws again and again until q or Ctrl-C is pressed, and leaves the terminal as it was. `read`
 * makes what `draw` shows; a key that sorts draws at once what was read last.
 */
export const live = async <T>(
  { out, keys }: Terminal,
  read: () => Promise<T>,
  draw: (read: T, order: OrderKey) => string,
): Promise<void> => {
  let order: OrderKey = 'h';
  let last: { value: T } | null = null;
  const over = new AbortController();
  const quit = (): void => over.abort();
  const show = (): void => {
    if (last === null || over.signal.aborted) return;
    const lines = draw(last.value, order).split('\n').slice(0, out.rows);
    out.write(`${HOME}${lines.map((line) => `${line}${REST_OF_LINE}`).join('\r\n')}${REST_OF_SCREEN}`);
  };
  const pressed = (chunk: Buffer | string): void => {
    for (const key of String(chunk)) {
      if (key === 'q' || key === CTRL_C) quit();
      else if (isOrderKey(key)) {
        order = key;
        show();
      }
    }
  };
  keys.setRawMode?.(true);
  keys.on('data', pressed);
  keys.on('end', quit);
  out.write(ANOTHER_SCREEN);
  try {
    while (!over.signal.aborted) {
      last = { value: await read() };
      show();
      await sleep(REFRESH_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  } finally {
    quit();
    out.write(OLD_SCREEN);
    keys.off('data', pressed);
    keys.off('end', quit);
    keys.setRawMode?.(false);
    keys.pause();
  }
};
