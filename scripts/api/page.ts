/** Renders the table of calls as a page with each call's name, group, input and purpose, which is the comment above its entry. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { calls } from "../../src/agent/calls.ts";
import type { Group, CallTable } from "../../src/agent/extension.ts";
import { approvalCalls } from "../../src/approval/room.ts";
import { contextCalls } from "../../src/context/room.ts";
import { costCalls } from "../../src/costs/room.ts";
import { eventCalls } from "../../src/events/room.ts";
import { transcriptCalls } from "../../src/import/room.ts";
import { inspectCalls } from "../../src/inspect/room.ts";
import { notesCalls } from "../../src/notes/room.ts";
import { recallCalls } from "../../src/recall/room.ts";

const GROUPS: Readonly<Record<Group, string>> = {
  watch: "Ask for compactions and follow them. Open by default. No answer holds a word of the conversation.",
  read: "The conversation, its summaries, runs and sums.",
  write: "Say more, in any role.",
  steer: "Decide how summaries are made and which of them hold.",
  admin: "Delete, and change the system prompt and the sums of usage.",
};

/** By room, its folder and its table. */
const ROOMS: readonly (readonly [name: string, folder: string, table: CallTable])[] = [
  ["", "agent", calls],
  ["approval", "approval", approvalCalls],
  ["context", "context", contextCalls],
  ["costs", "costs", costCalls],
  ["events", "events", eventCalls],
  ["inspect", "inspect", inspectCalls],
  ["notes", "notes", notesCalls],
  ["recall", "recall", recallCalls],
  ["transcripts", "import", transcriptCalls],
];

const HEAD = `# Calls

Each call of an agent takes one object and returns a promise. A holder of the agent's stub may make all of them. A connected client may make those
that the agent's class opens, by group or by name ([clients.md](clients.md)). A field that a call does not have is refused as
\`invalid_input\`, and the error names it. A field with a question mark may be left out. Without \`sessionId\` a call uses the agent's default session,
\`""\`.

This page is generated from the table of calls (\`npm run api\`).
`;

export function apiPage(): string {
  const groups = Object.entries(GROUPS).map(([group, does]) => {
    const rows = ROOMS.flatMap(([room, folder, table]) => {
      const purposes = purposesIn(folder);
      return Object.entries(table).flatMap(([name, entry]) =>
        entry.group === group ? [row(name, room, { ...entry, does: purposes.get(name) })] : [],
      );
    });
    return `## ${group}\n\n${does}\n\n| Call | Takes | What it is for |\n|---|---|---|\n${rows.join("\n")}\n`;
  });
  return [HEAD, ...groups].join("\n");
}

/** The comments above the entries of a folder's table, by call. */
function purposesIn(folder: string): ReadonlyMap<string, string> {
  const src = join(import.meta.dirname, "../../src", folder);
  const file = [join(src, "calls.ts"), join(src, "room.ts")].find(existsSync) ?? src;
  const source = readFileSync(file, "utf8");
  const found = source.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[^])*)\*\/\n {2}(\w+): \w+(?:<\w+>\(\))?\(\{$/gm);
  return new Map([...found].map(([, text = "", name = ""]) => [name, text.replaceAll(/\n\s*\*/g, "").trim()]));
}

type Described = Pick<CallTable[string], "input"> & { readonly does: string | undefined };

function row(name: string, room: string, { input, does }: Described): string {
  if (does === undefined) throw new Error(`The call ${name} has no comment above its entry.`);
  const fields = Object.entries(input.shape).map(([field, schema]) => {
    const mayBeLeftOut = schema.safeParse(undefined).success;
    return `\`${field}${mayBeLeftOut ? "?" : ""}\` ${typeOf(schema)}`;
  });
  const where = room === "" ? "" : ` With the room \`${room}()\`.`;
  return `| \`${name}\` | ${fields.join(", ") || "nothing"} | ${does}${where} |`;
}

/** The type in a word or two. A schema that this project checks by hand has no JSON type and is called an object. */
function typeOf(schema: z.core.$ZodType): string {
  const json = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" }) as Json;
  return wordOf(json);
}

interface Json {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Json[];
  readonly items?: Json;
  readonly const?: unknown;
}

function wordOf(json: Json): string {
  if (json.enum !== undefined) return json.enum.map((each) => JSON.stringify(each)).join(" or ");
  if (json.anyOf !== undefined) return [...new Set(json.anyOf.map(wordOf))].join(" or ");
  if (json.type === "array") return `list of ${json.items === undefined ? "objects" : plural(wordOf(json.items))}`;
  if (json.type === "integer") return "whole number";
  return json.type ?? "object";
}

function plural(word: string): string {
  return word.endsWith("s") ? word : `${word}s`;
}
