/** An execution as it is now (E2), its items and its results (E13). One source: the contracts. */
export type {
  ChunkView,
  ExecutionProgress,
  ExecutionView,
  ResultDocument,
  ResultDocumentPage,
  ResultEntry,
  WorkItemView,
} from '../../workflows/contracts/execution';
