/** What an agent's own code still lacks, which no program should change by itself. */
import { HOSTS, PAGES, sdkSessionsIn, type Declared, type Project } from "./project.ts";
import { isSixth } from "./versions.ts";

const STORES =
  /\b(?:append(?:Message|Events)\w*|importFrom|importTranscript|keepTurn|compactHarness|persistTurn|upsert)\b|\bclients\b[^;]{0,200}["'](?:append\w*|write|all)["']/;
const READS = /\b(?:getView|getRecentHistory|keepTurn|viewBeforeStep|compactHarness|buildWorkingContext)\b/;

/** What an agent's code omits, so that compaction would change nothing or the code does not compile, each with what to write. */
export function omissionsOf({ base, file }: Declared, project: Project): { found: string; advice: string }[] {
  if (base === "AIChatAgent") {
    const recovery = /^\s*(?:override\s+)?chatRecovery\s*=\s*true\b.*$/m.test(file.text);
    return [
      ...(/\bthis\.compacted\(/.test(file.text)
        ? []
        : [{ found: "its model is sent every message", advice: SEND_VIEW }]),
      ...(recovery
        ? [{ found: "it sets chatRecovery", advice: "Delete chatRecovery = true: it is always on now." }]
        : []),
    ];
  }
  const isElsewhere =
    HOSTS[base] !== undefined || project.sources.some(({ text }) => sdkSessionsIn(text) !== undefined);
  const does = (what: RegExp): boolean => project.sources.some(({ text }) => what.test(text));
  const found = [
    ...(does(STORES) ? [] : ["no message is stored in its session"]),
    ...(does(READS) ? [] : ["no view of its session is read"]),
  ];
  if (isElsewhere || found.length === 0) return [];
  const part = isSixth(project) ? `chat.md, "With the AI SDK 6"` : "chat.md";
  const advice = `Store each message with session.appendMessage, and send your model session.getView() (${PAGES}/${part}).`;
  return [{ found: found.join(", and "), advice }];
}

const SEND_VIEW =
  "In onChatMessage, send the compacted view: const turn = await this.compacted({ tools }); return streamText({ model, tools, ...turn }).toUIMessageStreamResponse();";
