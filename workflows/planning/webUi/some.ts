/** Writes a number with its noun: `1 batch`, `2,000 tasks`. */
export const some = (n: number, noun: string, most = Infinity): string =>
  `${n.toLocaleString('en-US')}${n >= most ? '+' : ''} ${n === 1 ? noun : noun.endsWith('ch') ? `${noun}es` : `${noun}s`}`;
