/** One text in one row of the agent's SQLite: what a block has when it is given no provider. */
import type { WritableContextProvider } from "./provider.ts";
import type { BlockScope } from "./scope.ts";

/** Made per scope: pass it as `provider`, or leave `provider` out. */
export function sqliteBlock({ statements, place }: BlockScope): WritableContextProvider {
  return {
    get: async () => statements.block(place),
    set: async (content) => statements.putBlock(place, content),
  };
}
