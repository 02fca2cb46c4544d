/** Ends the servers of the run; their guards would do it too, were this process killed. */
export default async function globalTeardown(): Promise<void> {
  const servers = (
    globalThis as { musterServers?: { postgres: { stop(): Promise<void> }; temporal: { stop(): Promise<void> } } }
  ).musterServers;
  await Promise.all([servers?.temporal.stop(), servers?.postgres.stop()]);
}
