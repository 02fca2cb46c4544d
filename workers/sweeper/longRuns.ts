import type { SilentTurn } from '../../postgres/grouping/leader';

/**
 * A run that is silent for so long has lost its worker, or will not get time for its task soon. Not
 * less: a process that was stopped for some seconds goes on, and has the run in its memory.
 */
export const LONG_SILENT_MS = 10_000;
/** Turns from which on a replay costs more than beginning anew; and the same in events. */
const LONG_TURNS = 20;
export const LONG_EVENTS = 160;

/**
 * Says whether a silent run is begun anew instead of woken: every fact is in the store, and when
 * all workers were killed at once, the replays of their leaders and of the queuer keep the next
 * workers from all else for minutes. Pure.
 */
export const isLongAndSilent = ({
  turn,
  silentMs,
  holder,
}: Pick<SilentTurn, 'turn' | 'silentMs' | 'holder'>): boolean =>
  holder !== null && silentMs >= LONG_SILENT_MS && turn >= LONG_TURNS;
