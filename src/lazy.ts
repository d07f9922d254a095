/** Makes a value at its first use. For what would delay every start of a Worker, such as tables of words and sets of Unicode characters. */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
