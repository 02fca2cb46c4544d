import type { TaskState } from '../../workflows/planning/states';

/** Which tasks of a handler a bulk action is about. */
export interface BulkFilter {
  /**
   * Only tasks in this state: `failed`, `dead`, `unknown` or `succeeded` with `redrive`, which
   * needs it. Of the others each has one: `created` with `cancel` and `update`, `unknown` with
   * `resolve`.
   */
  state?: TaskState;
  /** Only the task with this id. */
  id?: string;
  /** Only tasks of this target; default: of the whole handler. */
  target?: string;
  /** Only tasks that were submitted with this tag. */
  tag?: string;
  /** Only tasks whose error contains this text (1 to 1,000 characters, as it is written). */
  error?: string;
  /**
   * Only tasks in whose error this stands as a word, such as `503` or `ThrottlingException`, 1 to
   * 100 characters.
   */
  errorCode?: string;
  /** Only tasks whose error is of this group: the `text` of a group of `errors.list`. */
  errorGroup?: string;
  /**
   * Only tasks that ended at this time or later, or, while they have not ended, were accepted then:
   * a date, ISO time or Unix milliseconds.
   */
  since?: Date | string | number;
  /** Only tasks that ended, or were accepted, before this time, in the same form. */
  until?: Date | string | number;
}

/** What a bulk action does to each task. */
export type BulkDeed =
  | {
      /** Cancels tasks that are in no batch yet. */
      do: 'cancel';
    }
  | {
      /** Sends tasks again, with fresh attempts. */
      do: 'redrive';
    }
  | {
      /** Ends parked tasks whose outcome is unknown. */
      do: 'resolve';
      as: 'succeeded' | 'failed';
      /** With `succeeded`: the result of each task, a JSON value; default: none. */
      result?: unknown;
      /** With `failed`: the reason. */
      error?: string;
    }
  | {
      /** Changes waiting tasks, outside of lanes. At least one field is given. */
      do: 'update';
      /**
       * A JSON merge patch (RFC 7396) of their payloads: members that it has are replaced, those
       * that are null in it are removed. At most 65,536 bytes of JSON. A task whose target or key
       * would be another, or whose new payload the handler refuses, fails, and keeps what it has.
       * Not beside `priority` or `notBefore`.
       */
      payloadPatch?: Readonly<Record<string, unknown>>;
      /** A lower one goes first within its target, -32,768 to 32,767. */
      priority?: number;
      /** At least 0, and at most what a call of the handler may have. */
      weight?: number;
      /** Joins no batch before this time; null: at once, also where a retry is waited for. */
      notBefore?: Date | string | number | null;
      /** One that still waits then, in no batch, fails: a time to come; null: never. */
      expiresAt?: Date | string | number | null;
    };

/** A bulk action that is to be counted or started. */
export interface BulkInput {
  handler: string;
  /** Default: all tasks of the handler that are in the state. */
  where?: BulkFilter;
  action: BulkDeed;
  /** Most tasks, 1 to 1,000,000,000; default: no limit. */
  limit?: number;
}

/** A bulk action that is to be started. */
export interface BulkStart extends BulkInput {
  /**
   * A UUID in lower case, chosen by the caller: starting again with the same id starts nothing.
   * Default: a new id.
   */
  id?: string;
}
