import type { Handler } from '../../../handlers/types';
import type { Tables } from './tables';

/** What a statement of the product does to a simulated store; its rows. */
export type Statement = (tables: Tables, values: readonly unknown[], handler: Handler) => object[];

export const NO_ROWS: object[] = [];
