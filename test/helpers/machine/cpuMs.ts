/**
 * Returns how much processor time of this process some work took (ms), for bounds that a busy
 * machine must not break.
 */
export const cpuMs = (work: () => void): number => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};
