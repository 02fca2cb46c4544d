import { currentJson } from '../../handlers/contracts/currentPayload';
import { payloadBy } from '../../handlers/contracts/schema';
import type { Contract } from '../../handlers/types';
import { describeThrown } from '../../handlers/text';
import type { PayloadRow } from '../../postgres/bulk/payloads';
import type { KEEPS_PAYLOAD } from '../../workflows/planning/bulk/actions';
import type { JsonObject } from '../../workflows/planning/bulk/mergePatch';
import { isJsonObject, mergePatch } from '../../workflows/planning/bulk/mergePatch';
import type { TaskProblem } from '../errors';
import { checkTask } from '../tasks/checkTasks';
import { sameJson } from '../tasks/repeats';

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
 * place: with another target or key it would belong elsewhere. Null: it is as wanted already.
 */
export const patchTask = (handler: Contract, task: PayloadRow, patch: JsonObject): Patched | null => {
  let json: string;
  try {
    json = currentJson(handler, task, task.target);
  } catch (error) {
    return { refusal: 'outdated', detail: describeThrown(error) };
  }
  const before: unknown = JSON.parse(json);
  if (!isJsonObject(before)) return { refusal: 'noObject' };
  // It was parsed when it was submitted, and is parsed again: cents must not become cents of cents.
  if (!isStable(handler, json)) return { refusal: 'unstable' };
  const problems: TaskProblem[] = [];
  const checked = checkTask(handler, { id: task.id, payload: mergePatch(before, patch) }, 0, problems);
  if (checked === null) {
    const [first] = problems;
    return { refusal: 'invalid', detail: `${first!.field}: ${first!.message}` };
  }
  if (checked.target !== task.target) return { refusal: 'target' };
  if (checked.key !== task.key) return { refusal: 'key' };
  if (sameJson(checked.payload, task.payload)) return null;
  const { payload, bytes } = checked;
  return { payload, bytes, weight: isComputed(handler, before, task.weight) ? checked.weight : task.weight };
};

const isStable = (handler: Contract, json: string): boolean => {
  try {
    return sameJson(JSON.stringify(payloadBy(handler.schema, JSON.parse(json))), json);
  } catch {
    return false;
  }
};

/** Says whether the weight is the handler's, and was not set by hand. */
const isComputed = (handler: Contract, payload: unknown, weight: number | null): boolean => {
  try {
    return handler.weightOf(payload) === (weight ?? 1);
  } catch {
    return false;
  }
};
