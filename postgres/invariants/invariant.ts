/**
 * What must hold in the store at every instant, as a statement that answers the rows which break it: none, or a bug (or somebody's hand).
 * Static text; at most 20 rows, each naming what a person would look for.
 */
export interface Invariant {
  name: string;
  text: string;
  /**
   * May be broken for the moment between two commits of a running system (a ring on its way): only rows found twice, `verifyStore` apart,
   * count. Such a statement answers nothing that changes with the time, and in a fixed order.
   */
  passing?: boolean;
}
