import type { ErrorSource } from './group';
import { commonPiece } from './normalise';

/** What lists the errors of a group, and what sends them again; null: it happens by itself. */
export interface Remedy {
  list: string;
  again: string | null;
}

const STATES = { dead: 'dead', failed: 'failed', unknown: 'unknown', retrying: 'created' } as const;

/** Returns the commands for a group of errors. */
export const remedyOf = (handler: string | null, of: ErrorSource, normalised: string): Remedy => {
  const piece = commonPiece(normalised);
  const error = piece === null ? '' : ` --error ${quoted(piece)}`;
  if (of === 'callback') {
    const whose = handler === null ? '' : ` --handler ${quoted(handler)}`;
    return { list: `muster callbacks${whose}`, again: `muster callbacks send${whose}` };
  }
  const name = quoted(handler!);
  const list = `muster tasks ${name} --state ${STATES[of]}${error}`;
  const again = `muster bulk redrive ${name} --state ${of} --error-group ${quoted(normalised)}`;
  return { list, again: of === 'retrying' ? null : again };
};

/** Quotes an argument for a shell, if it needs to be. */
const quoted = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
