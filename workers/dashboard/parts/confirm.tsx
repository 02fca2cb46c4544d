import { useEffect, useRef, useState } from 'preact/hooks';
import { change, isFinal, Refusal } from '../api/call';
import type { Action, Field, Found, Given } from '../model/actions';
import { bodyOf, previewBodyOf } from '../model/actions';
import { sayNow } from '../model/now';

type State =
  | 'asked'
  | 'sent'
  | { done: string; goesTo: ReturnType<NonNullable<Action['goesTo']>> | undefined }
  | { problem: string };

/** Asks, sends, and says what came of it. */
export const Confirm = ({ action, close }: { action: Action; close: (isDone: boolean) => void }) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const [state, setState] = useState<State>('asked');
  const found = useDryRun(action);
  const [key] = useState(newKey);
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (): Promise<void> => {
    setState('sent');
    const body = bodyOf(action, givenIn(form.current!));
    try {
      const headers: Record<string, string> = action.isKeyed === true ? { 'idempotency-key': key } : {};
      const answer = await change(action.method, action.path, body, headers);
      setState({ done: action.done(answer), goesTo: action.goesTo?.(answer) });
    } catch (error) {
      setState({ problem: detailOf(error) });
    }
  };
  const isDone = typeof state === 'object' && 'done' in state;
  const mayBeSent = state !== 'sent' && maySend(found);
  const leave = (): void => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      aria-labelledby="question"
      // What became of a change that was sent is shown: it cannot be taken back.
      onCancel={(event) => state === 'sent' && event.preventDefault()}
      onClose={() => close(isDone)}
    >
      <form
        ref={form}
        method="dialog"
        onSubmit={(event) => {
          if (isDone) return;
          event.preventDefault();
          if (mayBeSent) void send();
        }}
      >
        <h2 id="question">{action.question}</h2>
        <p>{action.effect}</p>
        {!isDone && (
          <p role="status" class="now">
            {found === null ? 'Looking…' : found.text}
          </p>
        )}
        {!isDone && action.asks?.map((field) => <Asked key={field.name} field={field} />)}
        <Came state={state} leave={leave} />
        <div class="actions">
          {!isDone && (
            <button type="button" disabled={state === 'sent'} onClick={leave}>
              Leave it
            </button>
          )}
          <button type="submit" class={action.isFinal ? 'final main' : 'main'} disabled={!isDone && !mayBeSent}>
            {isDone ? 'Close' : action.label}
          </button>
        </div>
      </form>
    </dialog>
  );
};

/** Something that an action asks for. */
const Asked = ({ field: { name, label, value = '', choices, isNeeded } }: { field: Field }) => (
  <label>
    {label}
    {choices === undefined ? (
      <input
        name={name}
        type="text"
        maxLength={1_000}
        autocomplete="off"
        defaultValue={value}
        required={isNeeded === true}
      />
    ) : (
      <select name={name}>
        {choices.map(([one, text]) => (
          <option key={one} value={one} selected={one === value}>
            {text}
          </option>
        ))}
      </select>
    )}
  </label>
);

const givenIn = (form: HTMLFormElement): Given =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));

const Came = ({ state, leave }: { state: State; leave: () => void }) => {
  if (typeof state !== 'object') return <p role="status" />;
  if ('problem' in state)
    return (
      <p role="status" class="problem">
        {state.problem}
      </p>
    );
  const { done, goesTo } = state;
  return (
    <p role="status">
      {done}{' '}
      {goesTo !== undefined && (
        <a href={goesTo.href} onClick={leave}>
          {goesTo.text}
        </a>
      )}
    </p>
  );
};

/** Says what an action would change now; null: that is being asked. */
const useDryRun = (action: Action): Found | null => {
  const [found, setFound] = useState<Found | null>(null);
  useEffect(() => {
    dryRunOf(action).then(setFound, (error: unknown) => setFound(notFound(action, error)));
  }, [action]);
  return found;
};

/** An operator who must pause something does not wait for longer to be told what it is. */
const LONGEST_LOOK_MS = 5_000;

const dryRunOf = async ({ dryRun, operation, method, path, ...action }: Action): Promise<Found> => {
  const body = previewBodyOf(action);
  if (dryRun !== undefined) return dryRun.found(await change('POST', dryRun.path, body));
  const { now } = await change<{ now: unknown }>(method, path, body, { 'dry-run': 'true' }, LONGEST_LOOK_MS);
  return { n: 1, text: sayNow(operation, now) ?? '' };
};

/**
 * What is refused now is refused again, and need not be sent. An API that is too busy to look must
 * not keep an operator from pressing pause.
 */
const notFound = ({ dryRun }: Action, error: unknown): Found => {
  const isRefused = error instanceof Refusal && isFinal(error);
  if (dryRun !== undefined || isRefused) return { n: 0, text: detailOf(error) };
  return { n: 1, text: `What it would change now is not known: ${detailOf(error)}` };
};

/** Says whether an action may be sent: once it was seen what it would change, or cannot be. */
const maySend = (found: Found | null): boolean => found !== null && found.n > 0;

const detailOf = (error: unknown): string => (error instanceof Refusal ? error.detail : String(error));

/** Not `randomUUID`, which a page without TLS does not have. */
const newKey = (): string => [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join('-');
