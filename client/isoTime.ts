const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Returns an ISO time as Unix milliseconds; NaN: it is none. `Date.parse` by itself would take much
 * else for a time: "1" and "0.5" for days of 2001 and 2000, by the clock of this machine.
 */
export const isoMs = (text: string): number => (ISO.test(text) ? Date.parse(text) : NaN);
