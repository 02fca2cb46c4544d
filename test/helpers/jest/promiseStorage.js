const hooks = require('node:async_hooks');

/**
 * Lets go of what a file's modules store beside promises. Node hands every `AsyncLocalStorage` that
 * was ever entered on to each promise of the process, and each file loads Temporal's SDK, with
 * several of them, anew: after a hundred files of one process a promise carries hundreds.
 */
const made = new Set();

class AsyncLocalStorage extends hooks.AsyncLocalStorage {
  constructor(...options) {
    super(...options);
    made.add(this);
  }
}
// From Node 22 on a getter, which an assignment does not replace.
Object.defineProperty(hooks, 'AsyncLocalStorage', { value: AsyncLocalStorage, configurable: true, enumerable: true });

const letGo = () => {
  for (const storage of made) storage.disable();
  made.clear();
};

module.exports = { letGo };
