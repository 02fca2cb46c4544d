import { flowHandler, LANE_PREFIX } from './queuerHandler';
import { serveWorker } from '../muster/workerProcess';

/** A worker process with both handlers of the flow. */
serveWorker(LANE_PREFIX, () => [flowHandler('answers'), flowHandler('accepts')]);
