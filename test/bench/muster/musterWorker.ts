import type { HandlerSettings } from './musterHandler';
import { benchHandler, PREFIX } from './musterHandler';
import type { Open } from './workerProcess';
import { serveWorker } from './workerProcess';

/** Muster's worker process. */
serveWorker(PREFIX, (settings: Open & HandlerSettings) => [benchHandler(settings)]);
