const MODULE = '@temporalio/worker/lib/workflow/threaded-vm';

/** Most threads that wait for the next world: each holds the workflows' code. */
const MOST_IDLE = 3;

/** Threads in no worker's use, by what they were begun with; the one used last is first. */
const idle = [];

const sameStart = (a, b) =>
  a.workflowBundle.code === b.workflowBundle.code &&
  a.isolateExecutionTimeoutMs === b.isolateExecutionTimeoutMs &&
  a.reuseV8Context === b.reuseV8Context &&
  String([...a.registeredActivityNames].sort()) === String([...b.registeredActivityNames].sort());

const isPlain = ({ threadPoolSize, patchActivationCallback }) =>
  threadPoolSize === 1 && patchActivationCallback === undefined;

/**
 * Hands the threads in which workflows run on from a worker that has shut down to the next one of
 * this process. To begin one takes half a second of processor time, for modules and the workflows'
 * code, and hundreds of files begin several. A workflow keeps nothing outside its own run.
 */
const reuseThreads = () => {
  const loaded = require.cache[require.resolve(MODULE)];
  if (loaded === undefined || loaded.exports.reusesThreads === true) return;
  loaded.exports.reusesThreads = true;
  const { ThreadedVMWorkflowCreator: Creator, WorkerThreadClient: Thread } = loaded.exports;
  const { create } = Creator;
  const { destroy } = Thread.prototype;
  Creator.create = async function (options) {
    const fits = (thread) => !thread.workerExited && sameStart(thread.startedWith, options);
    const at = isPlain(options) ? idle.findIndex(fits) : -1;
    if (at !== -1) {
      const [thread] = idle.splice(at, 1);
      thread.workerThread.ref();
      return new this([thread]);
    }
    const creator = await create.call(this, options);
    if (isPlain(options)) creator.workerThreadClients[0].startedWith = options;
    return creator;
  };
  Thread.prototype.destroy = async function () {
    const isFree =
      this.startedWith !== undefined &&
      !this.workerExited &&
      this.getActiveWorkflowCount() === 0 &&
      this.requestIdToCompletion.size === 0;
    this.workerThread.unref();
    if (isFree && idle.unshift(this) <= MOST_IDLE) return;
    await destroy.call(isFree ? idle.pop() : this);
  };
};

module.exports = { reuseThreads };
