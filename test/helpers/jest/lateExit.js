/** How long a process may take to end after its last file; jest kills it after 500 ms. */
const LATE_MS = 350;
const LOOK_MS = 50;

let watched = false;

/**
 * Says what keeps this process alive after its last file: jest itself says only that it had to be
 * killed. Jest's part of the process then listens to no more messages.
 */
const nameWhatKeepsAlive = () => {
  if (watched || process.send === undefined) return;
  watched = true;
  let endedAt = null;
  const look = setInterval(() => {
    if (process.listenerCount('message') > 0) return;
    endedAt ??= performance.now();
    if (performance.now() - endedAt < LATE_MS) return;
    clearInterval(look);
    const sockets = process
      ._getActiveHandles()
      .map(({ constructor, remoteAddress, remotePort, spawnfile }) =>
        [constructor.name, spawnfile, remoteAddress, remotePort].filter((part) => part !== undefined).join(' '),
      );
    process.stderr.write(`still alive: ${process.getActiveResourcesInfo().join(', ')} (${sockets.join(', ')})\n`);
  }, LOOK_MS).unref();
};

module.exports = { nameWhatKeepsAlive };
