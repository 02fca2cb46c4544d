/** The workflow bundle. */
export { leader } from './leader';
export { monitor } from './monitor';
export { completion } from './completion';
export { balancer } from './balancer';
export { queuer } from './queuer';
export { notifier } from './notifier';
export { execution } from './execution';
