import { readableWait } from '../thrown';

const DAYS = '(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?';
const IMF = new RegExp(`^${DAYS}, \\d{2} [A-Z][a-z]{2} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$`);
const RFC850 = new RegExp(`^${DAYS}, (\\d{2})-([A-Z][a-z]{2})-(\\d{2}) (\\d{2}:\\d{2}:\\d{2}) GMT$`);
const ASCTIME = new RegExp(`^${DAYS} ([A-Z][a-z]{2}) ([ \\d]\\d) (\\d{2}:\\d{2}:\\d{2}) (\\d{4})$`);

/**
 * Parses an HTTP date in any of its three forms (RFC 9110, 5.6.7) into Unix milliseconds.
 * Undefined: it is none.
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  let standard = IMF.test(text) ? text : undefined;
  const rfc850 = RFC850.exec(text);
  if (rfc850 !== null) {
    const [, day, month, shortYear, time] = rfc850;
    const century = Math.floor(new Date(now).getUTCFullYear() / 100) * 100;
    // A two-digit year that seems to be more than 50 years ahead is the most recent past year with
    // these digits.
    const year =
      century + Number(shortYear) - new Date(now).getUTCFullYear() > 50
        ? century - 100 + Number(shortYear)
        : century + Number(shortYear);
    standard = `${day} ${month} ${year} ${time} GMT`;
  }
  const asctime = ASCTIME.exec(text);
  if (asctime !== null) standard = `${asctime[2]!.trim()} ${asctime[1]} ${asctime[4]} ${asctime[3]} GMT`;
  const at = standard === undefined ? NaN : Date.parse(standard);
  return Number.isNaN(at) ? undefined : at;
}

type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;
const single = (value: string | string[] | undefined): string | undefined =>
  (Array.isArray(value) ? value[0] : value)?.trim();

/**
 * Returns how many milliseconds an answer asks to wait, at most a day: by `retry-after-ms`, which
 * OpenAI and Azure send and which is more precise, or by `Retry-After` in seconds or as a date. A
 * date counts from the answer's own `Date`, so that the clocks need not agree. Undefined: there is
 * no such header, or it is unreadable.
 */
export function retryAfterMs(headers: ResponseHeaders, now: number): number | undefined {
  const fine = single(headers['retry-after-ms']);
  if (fine !== undefined && /^\d+(\.\d+)?$/.test(fine)) return readableWait(Number(fine));
  const coarse = single(headers['retry-after']);
  if (coarse === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(coarse)) return readableWait(Number(coarse) * 1_000);
  const until = parseHttpDate(coarse, now);
  if (until === undefined) return undefined;
  return readableWait(Math.max(0, until - (parseHttpDate(single(headers['date']) ?? '', now) ?? now)));
}
