import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { change, Refusal } from '../api/call';
import { may, SessionContext } from '../api/session';
import type { Action } from '../model/actions';

type State = 'asked' | 'sent' | { done: string } | { problem: string };

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
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (): Promise<void> => {
    setState('sent');
    const given = input.current?.value.trim() ?? '';
    const body =
      action.asks !== undefined && given !== '' ? { ...action.body, [action.asks.name]: given } : action.body;
    try {
      setState({ done: action.done(await change(action.method, action.path, body)) });
    } catch (error) {
      setState({ problem: error instanceof Refusal ? error.detail : String(error) });
    }
  };
  const isDone = typeof state === 'object' && 'done' in state;
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
        {action.asks !== undefined && !isDone && (
          <label>
            {action.asks.label}
            <input ref={input} type="text" maxLength={1_000} autocomplete="off" />
          </label>
        )}
        <p role="status" class={typeof state === 'object' && 'problem' in state ? 'problem' : ''}>
          {typeof state === 'object' ? ('done' in state ? state.done : state.problem) : ''}
        </p>
        <div class="actions">
          {!isDone && (
            <button type="button" onClick={() => dialog.current?.close()}>
              Leave it
            </button>
          )}
          <button type="submit" class={action.isFinal ? 'final main' : 'main'} disabled={state === 'sent'}>
            {isDone ? 'Close' : action.label}
          </button>
        </div>
      </form>
    </dialog>
  );
};
