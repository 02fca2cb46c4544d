import type { Project } from './names';
import { camelCase, typeName } from './names';

/** Returns the files of a project with a handler in TypeScript, by path. */
export const typescriptFiles = ({ handler }: Project): Record<string, string> => {
  const make = camelCase(handler);
  return {
    'muster.config.ts': configOf(handler, make),
    [`handlers/${handler}.ts`]: handlerOf(handler, make),
    [`handlers/${handler}.test.ts`]: testOf(handler, make),
  };
};

const configOf = (handler: string, make: string): string => `import { ${make} } from './handlers/${handler}';

export default [
  ${make}(async (customer, tasks) => {
    console.log(\`one call for \${customer}: \${tasks.length} tasks\`); // call your downstream here
    return [];
  }),
];
`;

const handlerOf = (handler: string, make: string): string => {
  const type = typeName(handler);
  return `import { defineHandler } from 'temporal-muster';

export interface ${type} {
  customer: string;
  total: number;
}

/** Makes one call of the downstream. Returns the ids of the tasks that it refused for now. */
export type Send = (customer: string, tasks: ({ id: string } & ${type})[]) => Promise<string[]>;

/** The downstream comes from outside, so that a test can play it. */
export const ${make} = (send: Send) =>
  defineHandler({
    name: '${handler}',
    target: (task: ${type}) => task.customer, // only tasks of one customer share a batch
    limits: { maxItems: 100 }, // a call takes at most 100
    linger: { lingerMs: 2_000 }, // a task waits for others for at most 2 s
    submit: async (batch) => {
      const refused = await send(
        batch.target,
        batch.tasks.map(({ id, payload }) => ({ id, ...payload })),
      );
      return {
        results: batch.tasks.map(({ id }) =>
          refused.includes(id) ? { id, status: 'retry', error: 'refused for now' } : { id, status: 'ok' },
        ),
      };
    },
  });
`;
};

const testOf = (handler: string, make: string): string => `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulate } from 'temporal-muster/testing';
import { ${make} } from './${handler}';

const tasks = (n: number, customer: string) =>
  Array.from({ length: n }, (_, i) => ({ id: \`\${customer}-\${i}\`, payload: { customer, total: i } }));

test('a full batch goes at once, the rest two seconds later, and customers share none', async () => {
  const world = simulate(${make}(async () => []));
  await world.submit([...tasks(101, 'ada'), ...tasks(1, 'bob')]);
  await world.advance('2s');
  const calls = world.calls.map((call) => [call.target, call.atMs, call.tasks.length] as const);
  assert.deepEqual(calls.toSorted(([a, s], [b, t]) => a.localeCompare(b) || s - t), [
    ['ada', 0, 100],
    ['ada', 2_000, 1],
    ['bob', 2_000, 1],
  ]);
});

test('what was refused for now is sent again', async () => {
  let refused = ['ada-1'];
  const world = simulate(${make}(async () => refused));
  await world.submit(tasks(2, 'ada'));
  await world.advance('2s');
  refused = [];
  await world.advance('1 hour');
  assert.deepEqual([world.task('ada-0')?.state, world.task('ada-1')?.state], ['succeeded', 'succeeded']);
  assert.equal(world.calls.length, 2);
});
`;
