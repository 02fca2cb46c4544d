import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { HANDLER_ATTRIBUTE } from '../../workflows/definitions';

const DEADLINE_MS = 10_000;
const KEYWORD = 2; // temporal.api.enums.v1.IndexedValueType
const NO_SUCH_ATTRIBUTE = 3; // INVALID_ARGUMENT of google.rpc.Code

/**
 * Says whether the namespace has the search attribute that leaders are started with, by a query
 * that names it: a list of all takes the rights of an operator, which Temporal Cloud gives no
 * worker.
 */
export const isAttributeRegistered = async (connection: NativeConnection, namespace: string): Promise<boolean> => {
  const query = `${HANDLER_ATTRIBUTE.name} = 'any' and ExecutionStatus = 'Running'`;
  try {
    await connection.withDeadline(Date.now() + DEADLINE_MS, () =>
      connection.workflowService.countWorkflowExecutions({ namespace, query }),
    );
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === NO_SUCH_ATTRIBUTE) return false;
    throw error;
  }
};

/** Returns the command by which an operator registers it. */
export const createAttributeCommand = (namespace: string): string => {
  const { name } = HANDLER_ATTRIBUTE;
  return (
    `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ` +
    `Keyword (on Temporal Cloud: tcld namespace search-attributes add --namespace ${namespace} ` +
    `--search-attribute "${name}=Keyword", or the namespace's page in the Web UI)`
  );
};

/**
 * Registers the search attribute that leaders are started with. Where a worker may not (Temporal
 * Cloud), an operator has to: leaders start without it until then.
 */
export const registerSearchAttributes = async (
  connection: NativeConnection,
  namespace: string,
  log: Logger,
): Promise<void> => {
  const { name } = HANDLER_ATTRIBUTE;
  try {
    if (await isAttributeRegistered(connection, namespace)) return;
    await connection.withDeadline(Date.now() + DEADLINE_MS, () =>
      connection.operatorService.addSearchAttributes({ namespace, searchAttributes: { [name]: KEYWORD } }),
    );
  } catch (error) {
    log.warn(
      { err: error },
      `the search attribute ${name} could not be registered: leaders cannot be filtered by handler in the Web UI. Run: ${createAttributeCommand(namespace)}`,
    );
  }
};
