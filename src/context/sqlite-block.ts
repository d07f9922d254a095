/** The default provider of a block, which keeps one text in one row of the agent's SQLite. */
import type { WritableContextProvider } from "./provider.ts";
import type { BlockScope } from "./scope.ts";

/** Makes the provider of a scope. Pass it as `provider`, or leave `provider` out. */
export function sqliteBlock(scope: BlockScope): WritableContextProvider {
  const { statements, blockId } = scope;
  return {
    get: async () => statements.block(blockId),
    set: async (content) => {
      statements.mustHoldMore();
      statements.putBlock(blockId, content);
    },
  };
}
