import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutorSource } from '../../../activities/executions/executors';
import { servedFunctions } from '../../../activities/executions/executors';
import { contentIdsOf } from '../../../activities/executions/executors/wasm/store';
import type { RegisteredFunction } from '../../../handlers/functions';

/** What a node says in roll calls that it can run. */

const store = mkdtempSync(path.join(tmpdir(), 'muster-served-'));
afterAll(() => rmSync(store, { recursive: true }));

const { sha256, cid } = contentIdsOf(Buffer.from('a module'));
for (const folder of [sha256, cid, 'notes', sha256.slice(1)]) mkdirSync(path.join(store, folder));

const NOTHING: ExecutorSource = { functions: new Map(), functionStore: null, memoryBytes: 65_536, httpAllow: [] };
const functions = new Map<string, RegisteredFunction>([['resize', {} as RegisteredFunction]]);

test.each<[string, Partial<ExecutorSource>, string[]]>([
  ['nothing', {}, []],
  ['its own functions', { functions }, ['resize']],
  ['http, where a host is allowed', { httpAllow: ['example.com'] }, ['http']],
  ['the modules of its store, and none of the other folders there', { functionStore: store }, [cid, sha256]],
  ['no module of a store that is not there', { functionStore: path.join(store, 'gone') }, []],
  ['all together', { functions, httpAllow: ['example.com'], functionStore: store }, ['resize', 'http', cid, sha256]],
])('a node names %s', async (_, source, expected) => {
  expect((await servedFunctions({ ...NOTHING, ...source })).sort()).toEqual([...expected].sort());
});
