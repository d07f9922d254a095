/** The branch that is read, in the form that the agent's calls take. */
import type { Connection } from "../connection.ts";

/**
 * Returns the branch's current newest leaf, for an action at its end. Undefined for the active branch, which the agent knows best. It asks
 * at the time of the action, because the branch may have grown since it was read.
 */
export async function findEnd(
  connection: Connection,
  sessionId: string,
  branch: string | null,
): Promise<string | undefined> {
  return branch === null ? undefined : ((await connection.call("findLeaf", { sessionId, id: branch })) ?? branch);
}
