/**
 * Executions, their items and their results, as they are now. They are defined in
 * workflows/contracts.
 */
export type {
  ChunkView,
  ExecutionProgress,
  ExecutionView,
  ResultDocument,
  ResultDocumentPage,
  ResultEntry,
  WorkItemView,
} from '../../workflows/contracts/execution';
