import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { runAside } from '../../bench/tenants/aside';
import { headOf, Wire } from '../../bench/tenants/wire';

/** The process of all hostile callers: one, with plain sockets, so that it is cheap. */

export interface Attack {
  port: number;
  /** Different ones in each run: no id is used twice. */
  name: string;
  callers: readonly { tenant: string; token: string }[];
  /** How many of each kind; bodies and floods take the processor, so they are fewer. */
  connections: number;
  kinds: readonly string[];
}
/** Requests, or connections, of each kind, by how they ended: a status, `closed` or `left`. */
export type Attacked = Record<string, Record<string, number>>;

export const KIND_NAMES = [
  'half-headers',
  'half-bodies',
  'slow-readers',
  'greedy-streams',
  'greedy-bodies',
  'crooked-values',
  'floods',
] as const;
type KindName = (typeof KIND_NAMES)[number];

/** Several of each kind, to the end; counts what each came to. */
interface Kind {
  name: KindName;
  /** For each of the `connections`, so many. */
  times: number;
  run(attacker: Attacker): Promise<void>;
}

interface Attacker {
  port: number;
  tenant: string;
  token: string;
  /** The first part of ids that nothing else uses. */
  id: string;
  isOver(): boolean;
  count(ended: string | number): void;
}

const REST_MS = 20;
/** One that reads nothing does not hear that it was let go: after this it comes again. */
const HELD_MS = 25_000;
const EVERY_MS = 250;
const BODY_BYTES = 4_000_000;
const FLOOD_TASKS = 100;

const submit = 'POST /v1/handlers/shared/tasks';

/** Sends these bytes, reads nothing, and comes again when it is let go. */
const holding = async (attacker: Attacker, bytes: string, drip: string | null): Promise<void> => {
  while (!attacker.isOver()) {
    const socket = connect({ port: attacker.port, host: '127.0.0.1', allowHalfOpen: true });
    let isOpen = true;
    socket.on('error', () => undefined).once('close', () => (isOpen = false));
    socket.pause();
    socket.write(bytes);
    const until = performance.now() + HELD_MS;
    let n = 0;
    while (isOpen && !attacker.isOver() && performance.now() < until) {
      await sleep(EVERY_MS);
      if (drip !== null && ++n % (1_000 / EVERY_MS) === 0 && isOpen) socket.write(drip);
    }
    socket.destroy();
    if (!attacker.isOver()) attacker.count(isOpen ? 'left' : 'closed');
  }
};

/** Sends requests over one connection, one after another. */
const asking = async (
  attacker: Attacker,
  next: (n: number) => [route: string, body: Buffer | string],
): Promise<void> => {
  const wire = new Wire(attacker.port);
  for (let n = 0; !attacker.isOver(); n++) {
    const { status } = await wire.send(next(n)[0], attacker.token, next(n)[1]);
    attacker.count(status);
    await sleep(REST_MS);
  }
  wire.close();
};

const filled = (before: string, one: string, after: string): Buffer =>
  Buffer.from(before + one.repeat(Math.floor((BODY_BYTES - before.length) / one.length)) + after);
const GREEDY: readonly Buffer[] = [
  filled('{"tasks":[', '[],', '[]]}'),
  filled('{"tasks":[{"id":"x","payload":[', '[      ],', '0]}]}'),
  filled('{"tasks":[{"id":"x","payload":[', '1e11    ,', '0]}]}'),
  filled('{"tasks":[{"id":"x","payload":"', '\\u0041'.repeat(16), '"}]}'),
  filled('', '[{"', ''),
];

const CROOKED: readonly string[] = [
  '"\\u0000"',
  '"\\ud800"',
  `"${'é'.repeat(300)}"`,
  '"__proto__"',
  '"\'; drop table task; --"',
  'null',
  '-1',
  '1e300',
  '{"__proto__":{"a":1}}',
  `${'['.repeat(600)}${']'.repeat(600)}`,
];
const CROOKED_PATHS = ['GET /v1/tasks/%00', 'GET /v1/fanouts/%ff', 'GET /v1/tasks/x?wait=1e99', 'PUT /v1/tasks/x'];

const floodBody = ({ tenant, id }: Attacker, call: number): string => {
  const tasks = Array.from(
    { length: FLOOD_TASKS },
    (_, i) => `{"id":"${tenant}/${id}-${call}-${i}","payload":{"to":"hostile-${(call + i) % 50}"}}`,
  );
  return `{"tasks":[${tasks.join(',')}]}`;
};

const watch = async (attacker: Attacker): Promise<void> => {
  const wire = new Wire(attacker.port);
  const { status, body } = await wire.send('POST /v1/fanouts', attacker.token, '{}');
  wire.close();
  if (status >= 300) return void (await sleep(EVERY_MS));
  const { id } = JSON.parse(body) as { id: string };
  const path = `GET /v1/fanouts/${id}${Number(attacker.id.split('-').at(-1)) % 2 === 0 ? '/events' : '?wait=60'}`;
  await holding(attacker, headOf(path, attacker.token, 0), null);
};

const KINDS: readonly Kind[] = [
  {
    name: 'half-headers',
    times: 4,
    run: (attacker) => holding(attacker, 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ', 'x'),
  },
  {
    name: 'half-bodies',
    times: 1,
    run: (attacker) => holding(attacker, headOf(submit, attacker.token, 100_000) + '{', ' '),
  },
  {
    name: 'slow-readers',
    times: 1,
    run: (attacker) => holding(attacker, 'GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(10), null),
  },
  { name: 'greedy-streams', times: 8, run: watch },
  { name: 'greedy-bodies', times: 1, run: (attacker) => asking(attacker, (n) => [submit, GREEDY[n % GREEDY.length]!]) },
  {
    name: 'crooked-values',
    times: 1,
    run: (attacker) =>
      asking(attacker, (n) => {
        if (n % 4 === 0) return [CROOKED_PATHS[(n / 4) % CROOKED_PATHS.length]!, ''];
        const value = CROOKED[n % CROOKED.length]!;
        const [id, payload] = n % 2 === 0 ? [value, '{"to":"x"}'] : [`"${attacker.tenant}/c"`, `{"to":${value}}`];
        return [submit, `{"tasks":[{"id":${id},"payload":${payload}}]}`];
      }),
  },
  {
    name: 'floods',
    times: 2,
    run: (attacker) => asking(attacker, (n) => [submit, floodBody(attacker, n)]),
  },
];

const run = async (
  { port, name, callers, connections, kinds }: Attack,
  isOver: () => boolean,
): Promise<{ attacked: Attacked }> => {
  const attacked: Attacked = {};
  let no = 0;
  const attackers = KINDS.filter((kind) => kinds.includes(kind.name)).flatMap((kind) => {
    const counts: Record<string, number> = (attacked[kind.name] = {});
    return callers.flatMap(({ tenant, token }) =>
      Array.from({ length: connections * kind.times }, async () => {
        const count = (ended: string | number): void => void (counts[ended] = (counts[ended] ?? 0) + 1);
        const attacker: Attacker = { port, tenant, token, id: `${name}-${no++}`, isOver, count };
        while (!isOver()) await kind.run(attacker);
      }),
    );
  });
  await Promise.all(attackers);
  return { attacked };
};

if (require.main === module) runAside(run);
