import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import wabt = require('wabt');
import { contentIdsOf } from '../../activities/executions/executors/wasm/store';

/** The bytes of a module from its text. */
export const assemble = async (name: string, source: string): Promise<Uint8Array> => {
  const { parseWat } = await wabt();
  const module = parseWat(name, source);
  try {
    return module.toBinary({}).buffer;
  } finally {
    module.destroy();
  }
};

/** Puts a module into a function store; answers its content id. */
export const storeModule = (store: string, method: string, bytes: Uint8Array): string => {
  const { cid } = contentIdsOf(bytes);
  mkdirSync(path.join(store, cid), { recursive: true });
  writeFileSync(path.join(store, cid, method), bytes);
  return cid;
};
