export { checkFunctions, defineFunction, isContentId } from './defineFunction';
export type * from './types';
