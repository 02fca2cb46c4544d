/* global document, window, fetch, setTimeout, TextDecoder, AbortController, Blob, FormData, EventSource, Image, navigator */
/**
 * Runs in a page of another site: makes the browser send one request in one way, and says what the
 * page could read of the answer (null: nothing).
 */

/** A frame that never loads, a socket that never opens. */
const PATIENCE_MS = 2_000;
const SOCKET_MS = 15_000;

/** Waits for something of a job, and notes that it had no answer in time. */
const within = (job, work, ms = PATIENCE_MS) => {
  let timer;
  const end = new Promise((resolve) => {
    timer = setTimeout(() => {
      job.isLate = true;
      resolve(null);
    }, ms);
  });
  return Promise.race([work, end]).finally(() => window.clearTimeout(timer));
};

const element = (tag, attributes) => Object.assign(document.createElement(tag), attributes);

/** Loads something in a frame, and returns its text where the page may look into it. */
const inFrame = async (job, begin) => {
  const frame = element('iframe', { name: `f${Math.random()}` });
  document.body.append(frame);
  try {
    await within(job, new Promise((resolve) => begin(frame, resolve)));
    const text = frame.contentDocument?.documentElement?.textContent;
    return text === undefined || text === '' ? null : { text, ok: false };
  } catch {
    return null; // of another origin
  } finally {
    frame.remove();
  }
};

const byForm = (enctype, fields) => (job) =>
  inFrame(job, (frame, done) => {
    const form = element('form', { action: job.url, method: job.method, enctype, target: frame.name });
    for (const [name, value] of fields(job)) form.append(element('input', { type: 'hidden', name, value }));
    document.body.append(form);
    frame.onload = done;
    form.submit();
    form.remove();
  });

/** A form of text is `name=value`: the equals sign falls into a string of the JSON. */
const jsonInText = ({ body }) => [[`${body.slice(0, -1)}${body === '{}' ? '' : ','}"x":"`, '"}']];

const byFetch = (mode, type) => async (job) => {
  const leaving = new AbortController();
  try {
    return await fetched(job, mode, type, leaving.signal);
  } finally {
    leaving.abort(); // a stream would hold one of the few connections
  }
};

const fetched = async (job, mode, type, signal) => {
  const headers = type === null ? {} : { 'content-type': type };
  const body = job.method === 'GET' ? undefined : job.body;
  const answer = await within(
    job,
    fetch(job.url, { method: job.method, mode, credentials: 'include', headers, body, signal }).catch(() => null),
  );
  if (answer === null || answer.type === 'opaque') return null;
  const reader = answer.body?.getReader();
  const piece = await within(job, reader?.read() ?? null);
  return { text: new TextDecoder().decode(piece?.value ?? new Uint8Array()), ok: answer.ok };
};

const byTag = (tag) => async (job) => {
  const node = element(tag, { src: job.url });
  document.body.append(node);
  try {
    return await within(
      job,
      new Promise((resolve) => {
        node.onload = () => resolve({ text: `a ${tag} was loaded`, ok: true });
        node.onerror = () => resolve(null);
      }),
    );
  } finally {
    node.src = 'data:,';
    node.remove();
  }
};

const byBeacon = (made) => async (job) => {
  // It tells nothing of the answer; a frame that is fetched afterwards would not tell more.
  navigator.sendBeacon(job.url, made(job));
  await new Promise((resolve) => setTimeout(resolve, 0));
  return null;
};

const byEvents = (job) =>
  within(
    job,
    new Promise((resolve) => {
      const source = new EventSource(job.url, { withCredentials: true });
      const end = (read) => {
        source.close();
        resolve(read);
      };
      source.onopen = () => end({ text: 'a stream of events was opened', ok: true });
      source.onerror = () => end(null);
    }),
  );

const bySocket = (job) =>
  within(
    job,
    new Promise((resolve) => {
      const socket = new window.WebSocket(job.url.replace(/^http/, 'ws'));
      socket.onopen = () => resolve({ text: 'a WebSocket was opened', ok: true });
      socket.onerror = () => resolve(null);
    }),
    SOCKET_MS,
  );

window.ways = {
  'form urlencoded': byForm('application/x-www-form-urlencoded', () => [['a', '1']]),
  'form multipart': byForm('multipart/form-data', ({ body }) => [['a', body]]),
  'form text': byForm('text/plain', jsonInText),
  'fetch no-cors text': byFetch('no-cors', 'text/plain'),
  'fetch no-cors urlencoded': byFetch('no-cors', 'application/x-www-form-urlencoded'),
  'fetch no-cors JSON': byFetch('no-cors', 'application/json'),
  'fetch cors text': byFetch('cors', 'text/plain'),
  'fetch cors JSON': byFetch('cors', 'application/json'),
  'beacon text': byBeacon(({ body }) => body),
  'beacon JSON': byBeacon(({ body }) => new Blob([body], { type: 'application/json' })),
  'beacon form': byBeacon(() => {
    const form = new FormData();
    form.append('a', '1');
    return form;
  }),
  image: byTag('img'),
  script: byTag('script'),
  frame: (job) =>
    inFrame(job, (frame, done) => {
      frame.onload = done;
      frame.src = job.url;
    }),
  events: byEvents,
  socket: bySocket,
};

/**
 * Some at once: a page of an attacker would not wait either. Sockets all at once: Chromium opens one
 * later after each that failed.
 */
window.attack = async (jobs) => {
  const read = [];
  const one = async (job) => {
    const got = await window.ways[job.way](job).catch(() => null);
    read.push({ n: job.n, text: got?.text.slice(0, 4_000) ?? null, isLate: job.isLate === true });
  };
  const sockets = jobs.filter(({ way }) => way === 'socket').map(one);
  const others = jobs.filter(({ way }) => way !== 'socket');
  const next = async () => {
    for (let job = others.shift(); job !== undefined; job = others.shift()) await one(job);
  };
  await Promise.all([...sockets, ...Array.from({ length: 6 }, next)]);
  return read;
};
