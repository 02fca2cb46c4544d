import type { ErrorCode } from '../../workflows/planning/errorCodes';
import type { Problem } from '../../handlers';

/** The settings are wrong; carries every problem at once. A message never contains a secret. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly code: ErrorCode = 'INVALID_SETTINGS';
  constructor(readonly problems: readonly Problem[]) {
    const lines = problems.map(({ path, message }) => `  ${path === '' ? '' : `${path}: `}${message}`);
    super(`Settings: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}\n${lines.join('\n')}`);
  }
}
