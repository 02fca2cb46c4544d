/** The workflow bundle. */
export { leader } from './leader';
