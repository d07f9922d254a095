/** The prompt that the agent last sent, where the model that would continue it may be asked. */
import type { SentPrompt } from "../../../model/chosen.ts";
import type { ChunkRequest } from "../../../workflows/port.ts";
import type { Needs } from "../../core.ts";

/** Null on every try but the first, because a later one makes the plain call. */
export function sentPrompt(
  core: Needs<"health" | "platform" | "rooms">,
  sessionId: string,
  { continues, attempt }: { readonly continues: ChunkRequest["continues"] | undefined; readonly attempt: number },
): SentPrompt | null {
  if (continues === undefined || attempt > 1 || core.health.isOpen(continues.name, core.platform.now())) return null;
  return core.rooms.sent?.(sessionId, continues.id) ?? null;
}
