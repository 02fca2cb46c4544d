/** Which workflows callbacks may signal, and by which signals. */
export interface WorkflowPolicy {
  /** Patterns of workflow ids to which workers deliver; `*` stands for any text. */
  allow: readonly string[];
  /** Patterns of signal names besides Muster's own. */
  signals: readonly string[];
  /** Patterns of workflow ids that callers of the HTTP API may name; empty: none. */
  http: readonly string[];
}

/**
 * Without any setting: the library may name every workflow, since its callers can reach the
 * namespace themselves; callers of the HTTP API cannot, and may name none.
 */
export const DEFAULT_WORKFLOWS: WorkflowPolicy = { allow: ['*'], signals: [], http: [] };

/** Name of the signal about tasks that ended. */
export const TASKS_ENDED = 'musterTasksEnded';
/** Name of the signal about a fan-out that is complete or has expired. */
export const FANOUT_ENDED = 'musterFanoutEnded';
/** The signals that need no setting. */
const OWN_SIGNALS: readonly string[] = [TASKS_ENDED, FANOUT_ENDED];

/** A workflow as a callback names it. */
interface NamedWorkflow {
  workflowId: string;
  signal?: string | undefined;
}

/** Where a callback comes from: the door decides what it may name. */
type Door = 'worker' | 'http';

/** What is wrong with the workflow that a callback names. */
export interface WorkflowRefusal {
  field: 'workflowId' | 'signal';
  expected: string;
  got: string;
}

/** Returns why a callback may not signal this workflow; null: it may. */
export const workflowRefusal = (
  policy: WorkflowPolicy,
  { workflowId, signal }: NamedWorkflow,
  door: Door = 'worker',
): WorkflowRefusal | null => {
  const refuse = (field: WorkflowRefusal['field'], expected: string): WorkflowRefusal => ({
    field,
    expected,
    got: field === 'signal' ? signal! : workflowId,
  });
  if (isOwnWorkflow(workflowId)) return refuse('workflowId', "a workflow that is not one of Muster's own");
  if (door === 'http' && !isOneOf(policy.http, workflowId)) return refuse('workflowId', ofList('http', policy.http));
  if (!isOneOf(policy.allow, workflowId)) return refuse('workflowId', ofList('allow', policy.allow));
  if (signal === undefined || OWN_SIGNALS.includes(signal)) return null;
  if (signal.startsWith(RESERVED) || !isOneOf(policy.signals, signal))
    return refuse('signal', `${OWN_SIGNALS.join(', ')}, or ${ofList('signals', policy.signals)}`);
  return null;
};

/** How the names of the SDK's own signals begin. */
export const RESERVED = '__';

const ofList = (name: keyof WorkflowPolicy, patterns: readonly string[]): string =>
  `one that callbacks.workflows.${name} of the config file names (${patterns.join(', ') || 'none'})`;

/**
 * Says whether the id is formed as those of Muster's own workflows (`workflows/naming.ts`), of this
 * installation or of another in the namespace. A user's workflow may begin with the prefix, too.
 */
export const isOwnWorkflow = (workflowId: string): boolean => OWN_FORM.test(workflowId);

const OWN_FORM =
  /^[\w.-]{1,64}\/(notifier|balancer|queuer\/\d+|execution\/[0-9a-f-]{36}|(leader|monitor|completion)\/.+)$/s;

const isOneOf = (patterns: readonly string[], text: string): boolean =>
  patterns.some((pattern) => matches(pattern, text));

/** Compares piece by piece: a pattern with many `*` takes no longer than its text is long. */
const matches = (pattern: string, text: string): boolean => {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return text === pattern;
  const last = rest.pop()!;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
};
