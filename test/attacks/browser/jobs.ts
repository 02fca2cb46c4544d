import { bodies } from '../bodies';
import type { Route } from '../../../workers/api/route';

/** What a page sends to a server that it attacks. */
export interface Asked {
  what: string;
  method: string;
  path: string;
  body: string;
  /** Also told to a page that this server would refuse: it says nothing of any caller. */
  isOpen: boolean;
  /** Where it is answered, that has no end: a page waits for the end in vain. */
  isEndless: boolean;
}
/** One request, in one way. */
export interface Job extends Asked {
  n: number;
  way: string;
  url: string;
}

/** What the page can only do by GET, and by GET and POST; by the rest of its ways it can do any. */
const BY_GET = ['image', 'script', 'frame', 'events', 'socket'];
const BY_POST = ['beacon text', 'beacon JSON', 'beacon form'];

/** Says whether a browser sends this method in this way, also after a question to the server. */
const sends = (way: string, method: string): boolean => {
  if (BY_GET.includes(way)) return true; // as GET, whatever the method of the route
  if (BY_POST.includes(way)) return method !== 'GET'; // as POST
  return way.startsWith('fetch cors') || ['GET', 'POST'].includes(method);
};

export const jobsAt = (origin: string, asked: readonly Asked[], ways: readonly string[]): Job[] =>
  asked
    .flatMap((one) => ways.filter((way) => sends(way, one.method)).map((way) => ({ ...one, way })))
    .map((one, n) => ({ ...one, n, url: `${origin}${one.path}` }));

/** Ids of things that are there. */
export interface Things {
  fanout: string;
  execution: string;
}

/** Every route, at something that is there, with a body that is accepted. */
export const routesAsked = (routes: readonly Route[], { fanout, execution }: Things): Asked[] => {
  const table = bodies(fanout);
  return routes.map(({ id, method, path, scope, stream }) => {
    const [given, body] = table[id] ?? [];
    const named = path
      .replace('{fanout}', fanout)
      .replace('{execution}', execution)
      .replace('{handler}', 'items')
      .replace('{batch}', '1')
      .replace('{no}', '0')
      .replace('{service}', 's')
      .replace(/\{\w+\}/g, 'planted');
    const asked = { what: id, method, path: given ?? named, body: JSON.stringify(body ?? {}) };
    return { ...asked, isOpen: scope === 'open', isEndless: stream === 'text/event-stream' };
  });
};

/** What the Web UI does to a workflow, and how it reads it. */
export const uiAsked = (workflowId: string): Asked[] => {
  const one = `/api/v1/namespaces/default/workflows/${workflowId}`;
  const start = { workflowType: { name: 'x' }, taskQueue: { name: 'q' } };
  return [
    { what: 'start', method: 'POST', path: '/api/v1/namespaces/default/workflows/other', body: JSON.stringify(start) },
    { what: 'signal', method: 'POST', path: `${one}/signal/go`, body: '{}' },
    { what: 'cancel', method: 'POST', path: `${one}/cancel`, body: '{}' },
    { what: 'terminate', method: 'POST', path: `${one}/terminate`, body: '{}' },
    { what: 'list', method: 'GET', path: '/api/v1/namespaces/default/workflows', body: '{}' },
    { what: 'read', method: 'GET', path: one, body: '{}' },
    { what: 'history', method: 'GET', path: `${one}/history`, body: '{}' },
  ].map((asked) => ({ ...asked, isOpen: false, isEndless: false }));
};
