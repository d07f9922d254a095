/** Providers of context blocks, in the shape that all stores under test take. */
import type { Block } from "../store.ts";

/** Null stands for the store's own provider, which it can write. */
export function blockProvider({ text, oneObject }: Omit<Block, "label">) {
  if (text !== undefined) return { get: async () => text };
  return oneObject === true ? inMemory() : null;
}

function inMemory() {
  let content: string | null = null;
  return {
    get: async () => content,
    set: async (changed: string) => {
      content = changed;
    },
  };
}
