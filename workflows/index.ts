/** The workflow bundle. */
export { leader } from './leader';
export { monitor } from './monitor';
export { notifier } from './notifier';
