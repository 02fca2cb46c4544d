import { HaltError } from '../errors';

/**
 * Loads an optional package on its first use. Throws `HaltError`, which names the package to
 * install, if it is not there: nothing was sent, and the handler is paused until it is.
 */
export async function loadPackage<T>(sink: string, name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const isMissing =
      (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') && String(message).includes(`'${name}'`);
    if (!isMissing) throw error;
    throw new HaltError(
      `Cannot send with ${sink}: expected the package ${name} beside temporal-muster, found none. ` +
        `Run "npm install ${name}", restart the workers, and resume the handler.`,
    );
  }
}
