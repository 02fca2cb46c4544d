import { METADATA_BYTES_MAX, METADATA_NAMES_MAX } from '../../../workflows/planning/executions/usage';

/** Says whether a function's metadata can be kept: texts by name, within the limits. */
export const isMetadata = (value: unknown): value is Record<string, string> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= METADATA_NAMES_MAX &&
    entries.every(
      ([name, text]) =>
        typeof text === 'string' && [name, text].every((one) => !one.includes('\0') && one.isWellFormed()),
    ) &&
    Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES_MAX
  );
};
