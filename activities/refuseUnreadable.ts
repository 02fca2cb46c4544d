import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Unreadable } from '../workflows/planning/unreadable';
import { asUnreadable } from '../workflows/planning/unreadable';
import { cutText } from '../handlers/text';

/**
 * Attempts (about a minute) after which a codec without its key counts as broken: it may be without
 * it for a moment.
 */
const CODEC_ATTEMPTS = 8;

export type Activity = (...args: never[]) => Promise<unknown>;

/**
 * Makes activities refuse an input that this worker cannot read, instead of working with the marker
 * for it.
 */
export const refuseUnreadable = <A extends Record<string, Activity>>(activities: A): A =>
  Object.fromEntries(
    Object.entries(activities).map(([name, activity]): [string, Activity] => [
      name,
      async (...args) => {
        const marker = args.map(asUnreadable).find((found) => found !== null);
        if (marker !== undefined) throw refusal(name, marker);
        return activity(...args);
      },
    ]),
  ) as A;

const refusal = (activity: string, { musterUnreadable: why, encoding, byCodec }: Unreadable): ApplicationFailure => {
  const what = activity === 'submitTasks' ? 'the task' : `what ${activity} was given`;
  const encoded = encoding === undefined || encoding === '' ? 'in no encoding that is named' : `as ${encoding}`;
  const message =
    byCodec === true
      ? `Cannot read ${what}: a codec of the worker's data converter refuses its payload, which is encoded ${encoded}: ${cutText(why, 300)}. Give the worker and its caller the same data converter.`
      : `Cannot read ${what}: its payload is encoded ${encoded}. Give the worker the same data converter: export temporal.dataConverter from muster.config.ts.`;
  return ApplicationFailure.create({
    type: 'MusterUnreadable',
    message,
    nonRetryable: byCodec !== true || Context.current().info.attempt >= CODEC_ATTEMPTS,
  });
};
