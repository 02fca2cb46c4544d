import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Live } from '../api/live';
import { SessionContext, workflowUrl } from '../api/session';
import { duration, number, relative, share } from '../model/format';

type Level = 'good' | 'bad' | 'warn' | 'calm';

/** A state as a word: its colour only repeats it. */
export const State = ({ word, level }: { word: string; level?: Level }) => (
  <span class={`state ${level ?? LEVELS[word] ?? 'calm'}`}>{word}</span>
);
const LEVELS: Readonly<Record<string, Level>> = {
  succeeded: 'good',
  done: 'good',
  complete: 'good',
  alive: 'good',
  held: 'good',
  committed: 'good',
  valid: 'good',
  failed: 'bad',
  dead: 'bad',
  halted: 'bad',
  invalid: 'bad',
  expired: 'bad',
  free: 'bad',
  'permanently-failed': 'bad',
  silent: 'bad',
  'given-up': 'bad',
  unknown: 'warn',
  paused: 'warn',
  revoked: 'warn',
  drained: 'warn',
  draining: 'warn',
  retrying: 'warn',
  stopped: 'warn',
};

/** A time relative to now, with the exact one on hover. */
export const Time = ({ at }: { at: string | null | undefined }) =>
  at == null ? (
    <span class="none">–</span>
  ) : (
    <time dateTime={at} title={new Date(at).toISOString()}>
      {relative(Date.parse(at), Date.now())}
    </time>
  );

/** A duration; null: there is none. */
export const Ms = ({ ms }: { ms: number | null | undefined }) =>
  ms == null ? <span class="none">–</span> : <span title={`${number(ms)} ms`}>{duration(ms)}</span>;

export const Count = ({ n, href }: { n: number; href?: string }) => {
  if (n === 0) return <span class="none">0</span>;
  return href === undefined ? <span>{number(n)}</span> : <a href={href}>{number(n)}</a>;
};

/** How much of a limit is used. */
export const Meter = ({ n, of, label, text }: { n: number; of: number | null; label: string; text?: string }) => (
  <div class="meter">
    <span class="meter-label">{label}</span>
    <progress aria-label={label} max={1} value={of === null ? 0 : share(n, of)} />
    <span class="meter-text">{text ?? (of === null ? number(n) : `${number(n)} of ${number(of)}`)}</span>
  </div>
);

/** What is shown where there is nothing: what to do next. */
export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>;

/** Shows what was read, or why it was not. */
export const Shown = <T,>({
  live,
  missing,
  children,
}: {
  live: Live<T>;
  missing?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}) => {
  const { data, problem, at } = live;
  if (data === null && problem === null) return <p class="loading">Reading…</p>;
  if (data === null && problem!.status === 404 && missing !== undefined) return <Empty>{missing}</Empty>;
  return (
    <>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem.detail}
          {data !== null && ` Shown is what was there ${relative(at, Date.now())}.`}
        </p>
      )}
      {data !== null && children(data)}
    </>
  );
};

/** A table that scrolls by itself where it is wider than the page. */
export const Table = ({
  caption,
  head,
  children,
}: {
  caption: string;
  /** Names of the columns; those that begin with `#` have numbers. */
  head: readonly string[];
  children: ComponentChildren;
}) => (
  <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
    <table>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {head.map((name) => (
            <th key={name} scope="col" class={name.startsWith('#') ? 'n' : ''}>
              {name.replace(/^#/, '') || <span class="hidden">Choice</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

/** The id of a workflow, with a link where Temporal's Web UI is known. */
export const Workflow = ({ id, children }: { id: string; children?: ComponentChildren }) => {
  const url = workflowUrl(useContext(SessionContext), id);
  const text = children ?? id;
  return url === null ? (
    <span title={id}>{text}</span>
  ) : (
    <a href={url} title={`${id} in Temporal's Web UI`} target="_blank" rel="noreferrer">
      {text}
    </a>
  );
};

/** Returns the time now, again and again. */
export const useNow = (everyMs: number): number => {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
};

/** The name of a page, which is also that of the window. */
export const Title = ({
  children,
  trail = [],
}: {
  children: string;
  trail?: readonly (readonly [string, string])[];
}) => {
  useEffect(() => {
    document.title = `${children} · Muster`;
  }, [children]);
  return (
    <>
      {trail.length > 0 && (
        <nav aria-label="Where this is" class="trail">
          {trail.map(([name, href]) => (
            <a key={href} href={href}>
              {name}
            </a>
          ))}
        </nav>
      )}
      <h1 id="title" tabIndex={-1}>
        {children}
      </h1>
    </>
  );
};

/** Names and values. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
