/** Error numbers of WASI preview 1, as far as a run answers them. */
export const ERRNO = {
  success: 0,
  badf: 8,
  fault: 21,
  inval: 28,
  nosys: 52,
  notdir: 54,
  notsock: 57,
  notsup: 58,
  spipe: 70,
} as const;
