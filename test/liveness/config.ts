import { SECRET } from '../services/notifier/receiver';
import { givenHandlers } from './handlers';

/** The config file of the workers; their environment says of which downstream (`settingsEnv`). */

export const handlers = givenHandlers();
export const callbacks = { allow: ['127.0.0.1:*'], secret: SECRET };
