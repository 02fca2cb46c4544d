export const because = (error: string | null): string => (error === null ? '' : `: ${error}`);

export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
