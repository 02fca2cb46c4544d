/** An execution as it is now, its items and its results. One source: the contracts. */
export type {
  ChunkView,
  ExecutionProgress,
  ExecutionView,
  ResultDocument,
  ResultDocumentPage,
  ResultEntry,
  WorkItemView,
} from '../../workflows/contracts/execution';
