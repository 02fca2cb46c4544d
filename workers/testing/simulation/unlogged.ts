import pino from 'pino';

/**
 * The log of simulated worlds, which goes nowhere. One for all of them: with a log each, which is
 * a stream to be closed at the exit, a world took a fifth more time.
 */
export const UNLOGGED = pino({ level: 'silent' }, { write: () => undefined });
