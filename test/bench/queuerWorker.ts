import { flowHandler, LANE_PREFIX } from './queuerHandler';
import { serveWorker } from './workerProcess';

/** A worker process with both handlers of the flow. */
serveWorker(LANE_PREFIX, () => [flowHandler('answers'), flowHandler('accepts')]);
