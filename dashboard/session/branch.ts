/** The branch that is read, as the agent's calls name it. */
import type { Connection } from "../connection.ts";

/**
 * Its newest leaf at this moment, for what is to be done at its end; undefined for the active branch, which the agent
 * itself knows best. Asked only then: somebody may have said more on it since it was read.
 */
export async function findEnd(
  connection: Connection,
  sessionId: string,
  branch: string | null,
): Promise<string | undefined> {
  return branch === null ? undefined : ((await connection.call("findLeaf", { sessionId, id: branch })) ?? branch);
}
