/** The code of docs/leaving.md, as the tests run it. test/scripts/docs/shown-code.test.ts compares the two. */
import type { Session as SdkSession } from "agents/sessions";
import type { UIMessage } from "ai";
import type { SessionOf } from "../src/agent/sessions/session.ts";
import type { TranscriptsExtension } from "../src/import/room.ts";
import type { PalimpsestAgent } from "./worker.ts";

type ChatAgent = PalimpsestAgent;
type OwnSession = SessionOf<[TranscriptsExtension]>;

/** Every session of an agent, with its messages on all branches and its summaries. */
export async function* everything(agent: Leaving): AsyncGenerator<object> {
  let before: { createdAt: number; id: string } | undefined;
  for (;;) {
    const sessions = await agent.listSessions({
      limit: 100,
      order: "creation",
      ...(before !== undefined && { before }),
    });
    for (const session of sessions) {
      yield { session };
      yield* messagesOf(agent, session.id);
      for (const summary of await agent.getCompactions({ sessionId: session.id })) yield { summary };
    }
    const last = sessions.at(-1);
    if (last === undefined) return;
    before = { createdAt: last.createdAt, id: last.id };
  }
}

/** Each message once, behind its parent. */
async function* messagesOf(agent: Leaving, sessionId: string): AsyncGenerator<object> {
  const known = new Set<string>();
  for (const { leafId } of await agent.listBranches({ sessionId })) {
    let parentId: string | null = null;
    for (let from: number | null = 0; from !== null;) {
      const { text, next }: ExportedPart = await agent.exportPart({ sessionId, leafId, from });
      for (const line of text.split("\n").filter((each) => each !== "")) {
        const message = JSON.parse(line) as UIMessage;
        if (!known.has(message.id)) yield { parentId, message };
        known.add(message.id);
        parentId = message.id;
      }
      from = next;
    }
  }
}

type Leaving = Pick<ChatAgent, "exportPart" | "getCompactions" | "listBranches" | "listSessions">;
type ExportedPart = Awaited<ReturnType<ChatAgent["exportPart"]>>;

/** Copies a session's active branch and the summary that a model sees into a session of the SDK's. */
export async function intoSdk(ours: OwnSession, theirs: SdkSession): Promise<void> {
  for await (const line of ours.exportTranscript()) await theirs.appendMessage(JSON.parse(line) as UIMessage);
  const inForce = (await ours.getCompactions()).filter(({ state }) => state === "active");
  for (const { summary, span } of inForce) await theirs.addCompaction(summary, span.fromId, span.toId);
}

/** Drops all of our tables. */
export function dropPalimpsest(sql: SqlStorage): void {
  const ours = sql
    .exec<{ name: string; type: string; definition: string }>(
      "SELECT name, type, sql AS definition FROM sqlite_master WHERE type IN ('table', 'view') AND name GLOB 'palimpsest_*'",
    )
    .toArray();
  const tables = ours.filter(({ type }) => type === "table");
  // Triggers go with what they stand on.
  for (const { name, type } of ours) if (type === "view") sql.exec(`DROP VIEW "${name}"`);
  // A virtual table takes the tables of its index with it.
  const virtual = tables.filter(({ definition }) => definition.startsWith("CREATE VIRTUAL"));
  for (const { name } of [...virtual, ...tables]) sql.exec(`DROP TABLE IF EXISTS "${name}"`);
}
