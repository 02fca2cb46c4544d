import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import type { SessionView } from '../../workflows/contracts/dashboard';
import { change, read, Refusal } from './api/call';
import type { Session } from './api/session';
import { may, seesAll, SessionContext } from './api/session';
import type { Place } from './model/place';
import { hrefOf, parsePlace } from './model/place';
import { Login } from './pages/login';
import { Empty, Title } from './parts/basic';
import { Asking } from './parts/buttons';
import { routeTo } from './routes';

/** The session of this browser: not known yet, none, or this one; or why that is not known. */
type Known = 'asking' | 'none' | SessionView | Refusal;

export const App = () => {
  const [known, setKnown] = useState<Known>('asking');
  const ended = useCallback(() => setKnown('none'), []);
  const ask = useCallback(() => {
    read<SessionView>('/dashboard/session').then(setKnown, (error: Refusal) =>
      setKnown(error.status === 401 ? 'none' : error),
    );
  }, []);
  useEffect(ask, [ask]);
  if (known === 'asking') return null;
  if (known === 'none') return <Login begun={setKnown} />;
  if (known instanceof Refusal)
    return (
      <main>
        <Title>Muster</Title>
        <p class="problem" role="alert">
          {known.detail}
        </p>
        <button type="button" onClick={ask}>
          Try again
        </button>
      </main>
    );
  return <Pages view={known} ended={ended} />;
};

const Pages = ({ view, ended }: Session) => {
  const session = useMemo(() => ({ view, ended }), [view, ended]);
  const place = usePlace();
  const Page = routeTo(place.path);
  return (
    <SessionContext.Provider value={session}>
      <a class="skip" href="#title" onClick={focusTitle}>
        To the content
      </a>
      <Bar place={place} />
      <main>
        {/* One instance per path: a filter keeps what was read, another page begins anew. */}
        <Asking>{Page === null ? <Nowhere /> : <Page key={place.path.join('/')} place={place} />}</Asking>
      </main>
    </SessionContext.Provider>
  );
};

const focusTitle = (event?: Event): void => {
  event?.preventDefault();
  document.getElementById('title')?.focus();
};

const Nowhere = () => (
  <>
    <Title>No such page</Title>
    <Empty>
      The address names no page. <a href="#/">See the overview.</a>
    </Empty>
  </>
);

const usePlace = (): Place => {
  const [hash, setHash] = useState(location.hash);
  const place = useMemo(() => parsePlace(hash), [hash]);
  const page = place.path.join('/');
  useEffect(() => {
    const moved = (): void => setHash(location.hash);
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  const [first] = useState(page);
  // Another page is read from its name on, by ear too; not the one that was opened first.
  useEffect(() => {
    if (page !== first) requestAnimationFrame(() => focusTitle());
  }, [page, first]);
  return place;
};

const SECTIONS: readonly (readonly [name: string, path: string, shown: (session: Session) => boolean])[] = [
  ['Overview', '', () => true],
  ['Lanes', 'lanes', ({ view }) => view.handlers === null || view.tenant !== null],
  ['Fan-outs', 'fanouts', ({ view }) => view.handlers === null || view.tenant !== null],
  ['Executions', 'executions', ({ view }) => view.handlers === null || view.tenant !== null],
  ['Nodes', 'nodes', seesAll],
  ['Errors', 'errors', ({ view }) => view.tenant === null],
  ['Callbacks', 'callbacks', ({ view }) => view.tenant === null],
  ['Bulk', 'bulk', ({ view }) => view.tenant === null],
  ['Audit', 'audit', (session) => seesAll(session) && may(session, 'admin')],
];

const Bar = ({ place }: { place: Place }) => {
  const session = useContext(SessionContext);
  const [section = ''] = place.path;
  const here = section === 'handlers' || section === 'tasks' || section === 'batches' ? '' : section;
  return (
    <header>
      <nav aria-label="Pages of Muster">
        <a class="brand" href="#/">
          Muster
        </a>
        {SECTIONS.filter(([, , shown]) => shown(session)).map(([name, path]) => (
          <a key={path} href={hrefOf(path === '' ? [] : [path])} aria-current={path === here ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <Find />
      <Who />
    </header>
  );
};

/** Goes to a task by its id. */
const Find = () => (
  <form
    role="search"
    class="find"
    onSubmit={(event) => {
      event.preventDefault();
      const field = event.currentTarget.elements.namedItem('id') as HTMLInputElement;
      const id = field.value.trim();
      if (id !== '') location.hash = hrefOf(['tasks', id]);
    }}
  >
    <label class="hidden" for="find">
      Id of a task
    </label>
    <input id="find" name="id" type="search" placeholder="Find a task by id" maxLength={256} autocomplete="off" />
  </form>
);

const Who = () => {
  const { view, ended } = useContext(SessionContext);
  if (view.name === null) return <span class="who">no token needed</span>;
  const leave = (): void =>
    void change('DELETE', '/dashboard/session')
      .catch(() => undefined)
      .then(ended);
  return (
    <span class="who">
      <span title={`Scopes: ${view.scopes.join(', ')}`}>{view.name}</span>
      <button type="button" class="quiet" onClick={leave}>
        Log out
      </button>
    </span>
  );
};
