import { isDeepStrictEqual } from 'node:util';
import type { GivenPayload } from '../../handlers/contracts/currentPayload';
import { givenPayload } from '../../handlers/contracts/currentPayload';
import type { Contract } from '../../handlers/types';
import { describeThrown } from '../../handlers/text';
import type { PayloadRow } from '../../postgres/bulk/payloads';
import type { KEEPS_PAYLOAD } from '../../workflows/planning/bulk/actions';
import { changedMember, droppedMember } from '../../workflows/planning/bulk/judge';
import type { JsonObject } from '../../workflows/planning/bulk/mergePatch';
import { isJsonObject, mergePatch } from '../../workflows/planning/bulk/mergePatch';
import { fieldAt } from '../../workflows/planning/jsonText';
import type { TaskProblem } from '../errors';
import { checkTask } from '../tasks/checkTasks';

/** What becomes of a task: another payload, or none, and why. */
export type Patched =
  | { payload: string; bytes: number; weight: number | null }
  | {
      refusal: keyof typeof KEEPS_PAYLOAD;
      /** What the handler says, which may quote the payload. */
      detail?: string;
    };

/**
 * Decides what a merge patch makes of a waiting task, whose payload is decoded: the same checks as
 * at its submit, and what was computed from the payload then is computed again. It stays in its
 * place: with another target or key it would belong elsewhere. Only the result is judged: the
 * payload as it is may be one that the handler refuses. Null: it is as wanted already.
 */
export const patchTask = (handler: Contract, task: PayloadRow, patch: JsonObject): Patched | null => {
  let given: GivenPayload;
  try {
    given = givenPayload(handler, task);
  } catch (error) {
    return { refusal: 'outdated', detail: describeThrown(error) };
  }
  if (!isJsonObject(given.value)) return { refusal: 'noObject' };
  // A schema may change what it is given in place. What an upcast returns need be no plain JSON.
  const before = given.isParsed ? structuredClone(given.value) : given.value;
  const problems: TaskProblem[] = [];
  const checked = checkTask(handler, { id: task.id, payload: mergePatch(given.value, patch) }, 0, problems);
  if (checked === null) {
    const [first] = problems;
    return { refusal: 'invalid', detail: `${first!.field}: ${first!.message}` };
  }
  const after: unknown = JSON.parse(checked.payload);
  const dropped = droppedMember(patch, after);
  if (dropped !== null) return { refusal: 'dropped', detail: fieldAt(['payload', ...dropped]) };
  // A schema parses it a second time: cents must not become cents of cents.
  const changed = given.isParsed ? changedMember(before, after, patch) : null;
  if (changed !== null) return { refusal: 'unstable', detail: fieldAt(['payload', ...changed]) };
  if (checked.target !== task.target) return { refusal: 'target' };
  if (checked.key !== task.key) return { refusal: 'key' };
  if (isDeepStrictEqual(after, JSON.parse(task.payload))) return null;
  const { payload, bytes } = checked;
  return { payload, bytes, weight: isComputed(handler, before, task.weight) ? checked.weight : task.weight };
};

/** Says whether today's code computes this weight; any other stays, as one that was set by hand. */
const isComputed = (handler: Contract, payload: unknown, weight: number | null): boolean => {
  if (weight === null) return true;
  try {
    return handler.weightOf(payload) === weight;
  } catch {
    return false;
  }
};
