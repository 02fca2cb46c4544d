/** Longest time of one call of a codec, and of one of an object store. */
export const CALL_MS = 30_000;

/** Waits for work at most so long. Throws an error after that. */
export const inTime = async <T>(work: () => Promise<T>, ms: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
};
