import { createHash } from 'node:crypto';
import { contentText } from '../../workflows/planning/executions/contentText';

/**
 * Returns an item's content id: the md5 in hex of `<functionId>/<method> <arguments joined by
 * spaces>`. It is not unique, so the store keeps the position with it.
 */
export const contentId = (functionId: string, method: string, args: readonly string[]): string =>
  createHash('md5')
    .update(contentText(functionId, method, args))
    .digest('hex');
