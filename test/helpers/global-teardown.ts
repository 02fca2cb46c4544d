interface Server {
  stop(): Promise<void>;
}

/** Ends the servers of the run; their guards would do it too, were this process killed. */
export default async function globalTeardown(): Promise<void> {
  const servers = (globalThis as { musterServers?: { postgres: Server; temporal: Server; pooler?: Server } })
    .musterServers;
  await servers?.pooler?.stop();
  await Promise.all([servers?.temporal.stop(), servers?.postgres.stop()]);
}
