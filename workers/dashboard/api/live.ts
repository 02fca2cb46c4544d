import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { isFinal, read, Refusal } from './call';
import { SessionContext } from './session';

export interface Live<T> {
  /** Null: not read yet, or refused. */
  data: T | null;
  problem: Refusal | null;
  /** When `data` was read, by this machine's clock. */
  at: number;
  /** Reads again now, as after a change. */
  again: () => void;
}

const EVERY_MS = 2_000;
/** After so many failures in a row the waits are longer. */
const PATIENT_AFTER = 3;
const PATIENT_MS = 10_000;

/**
 * Keeps what is at a path of the API up to date while the page is visible. Null: nothing is read.
 * What was read last is kept while the API does not answer.
 */
export const useLive = <T>(path: string | null, everyMs = EVERY_MS): Live<T> => {
  const { ended } = useContext(SessionContext);
  const [found, setFound] = useState<Omit<Live<T>, 'again'> & { path: string | null }>(nothing(path));
  const look = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (path === null) return;
    let isGone = false;
    let failures = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (ms: number): void => {
      clearTimeout(timer);
      if (!isGone) timer = setTimeout(() => void once(), ms);
    };
    const once = async (): Promise<void> => {
      if (document.hidden) return;
      try {
        const data = await read<T>(path);
        failures = 0;
        if (!isGone) setFound({ path, data, problem: null, at: Date.now() });
        later(everyMs);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (isGone) return;
        if (error.status === 401) return ended();
        setFound((last) => ({ ...(last.path === path ? last : nothing<T>(path)), problem: error }));
        if (!isFinal(error)) later(++failures > PATIENT_AFTER ? PATIENT_MS : everyMs);
      }
    };
    const seen = (): void => (document.hidden ? clearTimeout(timer) : later(0));
    look.current = () => later(0);
    document.addEventListener('visibilitychange', seen);
    void once();
    return () => {
      isGone = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [path, everyMs, ended]);
  const again = useCallback(() => look.current(), []);
  // Of another path nothing is shown, not even for a moment.
  return { ...(found.path === path ? found : nothing<T>(path)), again };
};

const nothing = <T>(path: string | null): Omit<Live<T>, 'again'> & { path: string | null } => ({
  path,
  data: null,
  problem: null,
  at: 0,
});
