/** Runs `page` until it returns that there is no more, or the budget is used up; at least once. */
export const pages = async (budgetMs: number, page: () => Promise<boolean>): Promise<void> => {
  const until = performance.now() + budgetMs;
  while ((await page()) && performance.now() < until);
};
