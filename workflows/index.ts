/** The workflow bundle. */
export { leader } from './leader';
export { monitor } from './monitor';
export { queuer } from './queuer';
export { notifier } from './notifier';
export { execution } from './execution';
