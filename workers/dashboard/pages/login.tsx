import { useState } from 'preact/hooks';
import type { SessionView } from '../../../workflows/contracts/dashboard';
import { change, Refusal } from '../api/call';
import { Title } from '../parts/basic';

/** A token that has just been made is known to every process after this. */
const KNOWN_AFTER_MS = 2_100;

const beginSession = async (token: string): Promise<SessionView> => {
  const post = (): Promise<SessionView> =>
    change<SessionView>('POST', '/dashboard/session', {}, { authorization: `Bearer ${token}` });
  try {
    return await post();
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    await new Promise((resolve) => setTimeout(resolve, KNOWN_AFTER_MS));
    return post();
  }
};

/** Takes a token once; the browser keeps it where no script reads it. */
export const Login = ({ begun }: { begun: (view: SessionView) => void }) => {
  const [problem, setProblem] = useState('');
  const [isSent, setSent] = useState(false);
  const begin = async (token: string): Promise<void> => {
    setSent(true);
    try {
      begun(await beginSession(token));
    } catch (error) {
      setProblem(error instanceof Refusal ? error.detail : 'Expected a token of printable characters.');
      setSent(false);
    }
  };
  return (
    <main class="login">
      <Title>Log in to Muster</Title>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const field = event.currentTarget.elements.namedItem('token') as HTMLInputElement;
          void begin(field.value.trim());
        }}
      >
        <label>
          Token
          <input name="token" type="password" required maxLength={500} autocomplete="off" spellcheck={false} />
        </label>
        <p role="alert" class={problem === '' ? '' : 'problem'}>
          {problem}
        </p>
        <button type="submit" class="main" disabled={isSent}>
          Log in
        </button>
      </form>
      <p class="hint">
        A token with scope <code>read</code> shows everything that it may see; with <code>operate</code> it may also
        pause, flush and redrive. Make one with <code>muster token create --name me --scope read,operate</code>.
      </p>
    </main>
  );
};
