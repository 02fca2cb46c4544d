import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { change, Refusal } from '../api/call';
import { may, SessionContext } from '../api/session';
import type { Action, Found } from '../model/actions';

type State =
  | 'asked'
  | 'sent'
  | { done: string; goesTo: ReturnType<NonNullable<Action['goesTo']>> | undefined }
  | { problem: string };

interface Asked {
  action: Action;
  then: (() => void) | undefined;
}
type Ask = (asked: Asked) => void;
const AskContext = createContext<Ask>(() => undefined);

/**
 * Holds the question of an action beside the pages: what asked for it may be gone before the answer
 * is read, as a task is that was cancelled.
 */
export const Asking = ({ children }: { children: ComponentChildren }) => {
  const [asked, setAsked] = useState<Asked | null>(null);
  return (
    <AskContext.Provider value={setAsked}>
      {children}
      {asked !== null && (
        <Confirm
          action={asked.action}
          close={(isDone) => {
            setAsked(null);
            if (isDone) asked.then?.();
          }}
        />
      )}
    </AskContext.Provider>
  );
};

/** Buttons of those actions that the session may take. Each asks first. */
export const Actions = ({ actions, then }: { actions: readonly Action[]; then?: () => void }) => {
  const session = useContext(SessionContext);
  const ask = useContext(AskContext);
  const allowed = actions.filter(({ scope }) => may(session, scope));
  if (allowed.length === 0) return null;
  return (
    <div class="actions">
      {allowed.map((action) => (
        <button
          key={action.label}
          type="button"
          class={action.isFinal ? 'final' : ''}
          onClick={() => ask({ action, then })}
        >
          {action.label}
        </button>
      ))}
    </div>
  );
};

/** Asks, sends, and says what came of it. */
const Confirm = ({ action, close }: { action: Action; close: (isDone: boolean) => void }) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<State>('asked');
  const found = useDryRun(action);
  const [key] = useState(newKey);
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (): Promise<void> => {
    setState('sent');
    const given = input.current?.value.trim() ?? '';
    const body =
      action.asks !== undefined && given !== '' ? { ...action.body, [action.asks.name]: given } : action.body;
    try {
      const headers: Record<string, string> = action.isKeyed === true ? { 'idempotency-key': key } : {};
      const answer = await change(action.method, action.path, body, headers);
      setState({ done: action.done(answer), goesTo: action.goesTo?.(answer) });
    } catch (error) {
      setState({ problem: detailOf(error) });
    }
  };
  const isDone = typeof state === 'object' && 'done' in state;
  const leave = (): void => dialog.current?.close();
  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={() => close(isDone)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          if (isDone) return;
          event.preventDefault();
          void send();
        }}
      >
        <h2 id="question">{action.question}</h2>
        <p>{action.effect}</p>
        {action.dryRun !== undefined && !isDone && <p role="status">{found === null ? 'Counting…' : found.text}</p>}
        {action.asks !== undefined && !isDone && (
          <label>
            {action.asks.label}
            <input ref={input} type="text" maxLength={1_000} autocomplete="off" />
          </label>
        )}
        <Came state={state} leave={leave} />
        <div class="actions">
          {!isDone && (
            <button type="button" onClick={leave}>
              Leave it
            </button>
          )}
          <button
            type="submit"
            class={action.isFinal ? 'final main' : 'main'}
            disabled={state === 'sent' || (action.dryRun !== undefined && !isDone && !(found !== null && found.n > 0))}
          >
            {isDone ? 'Close' : action.label}
          </button>
        </div>
      </form>
    </dialog>
  );
};

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

/** Says what an action would change now; null: it is being counted, or there is no dry run. */
const useDryRun = ({ dryRun, body }: Action): Found | null => {
  const [found, setFound] = useState<Found | null>(null);
  useEffect(() => {
    if (dryRun === undefined) return;
    change('POST', dryRun.path, body).then(
      (answer) => setFound(dryRun.found(answer)),
      (error: unknown) => setFound({ n: 0, text: detailOf(error) }),
    );
  }, [dryRun, body]);
  return found;
};

const detailOf = (error: unknown): string => (error instanceof Refusal ? error.detail : String(error));

/** Not `randomUUID`, which a page without TLS does not have. */
const newKey = (): string => [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join('-');
