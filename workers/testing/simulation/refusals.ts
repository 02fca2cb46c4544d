import type { Handler } from '../../../handlers/types';

/** Throws where a handler has what is not simulated. */
export const refuseUnsimulated = ({ name, ordered, affinity }: Handler): void => {
  if (!ordered && affinity === null) return;
  const got = ordered ? 'lanes' : 'affinity';
  throw new Error(
    `Cannot simulate handler "${name}": expected one without lanes and affinity, got ${got}. Test it with startMuster.`,
  );
};
