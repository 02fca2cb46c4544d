import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { may, SessionContext } from '../api/session';
import type { Action } from '../model/actions';
import { Confirm } from './confirm';

interface Question {
  action: Action;
  then: (() => void) | undefined;
}
type Ask = (asked: Question) => void;
const AskContext = createContext<Ask>(() => undefined);

/**
 * Holds the question of an action beside the pages: what asked for it may be gone before the answer
 * is read, as a task is that was cancelled.
 */
export const Asking = ({ children }: { children: ComponentChildren }) => {
  const [asked, setAsked] = useState<Question | null>(null);
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

/** A button of one action with its own text; that text alone where the session may not take it. */
export const AskButton = ({
  action,
  then,
  class: name,
  children,
}: {
  action: Action;
  then: () => void;
  class: string;
  children: ComponentChildren;
}) => {
  const session = useContext(SessionContext);
  const ask = useContext(AskContext);
  if (!may(session, action.scope)) return <>{children}</>;
  return (
    <button type="button" class={name} onClick={() => ask({ action, then })}>
      {children}
    </button>
  );
};
