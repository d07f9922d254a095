/** The examples at the verbs of sessions and agents, each as a function that compiles and that a test calls. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const FILES = [
  ...readdirSync(join(ROOT, "src/agent/sessions")).map((name) => `src/agent/sessions/${name}`),
  "src/agent/configured.ts",
  "src/agent/compacting-agent.ts",
  "src/recall/room.ts",
];

/** What an example may name without saying where it is from. */
const HEAD = `
import { convertToModelMessages, type UIMessage } from "ai";
import { Agent } from "agents";
import { Session, SessionManager, withCompaction, type SessionOf } from "palimpsest";
import { recall } from "palimpsest/recall";
import { secretRules } from "palimpsest/redact";
type Rooms = readonly [ReturnType<typeof recall>];
type Host = Parameters<typeof Session.create<Rooms>>[0];
interface Given {
  readonly session: SessionOf<Rooms>;
  readonly sessions: ReturnType<typeof SessionManager.create<Rooms>>;
  readonly sessionId: string;
  readonly overlayId: string;
  readonly question: UIMessage;
  readonly answer: UIMessage;
}
`;

export interface Verb {
  readonly verb: string;
  readonly code: string;
}

/** An example follows its tag up to the end of the comment, and the verb follows the comment. */
const EXAMPLE =
  /^ *\* @example(?: |\n)((?:(?! *\*\/).*\n)+) *\*\/\n +?(?:export function |static )?(?:async )?\*?(\w+)|^ \* @example(?: |\n)((?:(?! \*\/).*\n)+) \*\/\nexport function (\w+)/gm;

export function readVerbs(): readonly Verb[] {
  return FILES.flatMap((file) =>
    [...readFileSync(join(ROOT, file), "utf8").matchAll(EXAMPLE)].map(([, code, verb, ofFile, name]) => ({
      verb: `${file.replace(/^.*\/|\.ts$/g, "")}: ${verb ?? name ?? ""}`,
      code: (code ?? ofFile ?? "").replaceAll(/^ *\* ?/gm, ""),
    })),
  );
}

/** One module of all examples. */
export function verbsModule(): string {
  const examples = readVerbs().map(
    ({ verb, code }) => `  [${JSON.stringify(verb)}, async function (this: Host, given: Given) {
    const { session, sessions, sessionId, overlayId, question, answer } = given;
    {
      ${code.trimEnd().replaceAll("\n", "\n      ")}
    }
  }],`,
  );
  return `${HEAD}\nexport const verbs: readonly [string, (this: Host, given: Given) => Promise<unknown>][] = [\n${examples.join("\n")}\n];\n`;
}

/** Vite's plugin for tests that call the examples. */
export const verbsPlugin = {
  name: "verbs",
  resolveId: (id: string): string | undefined => (id === "virtual:verbs" ? "/virtual/verbs.ts" : undefined),
  load: (id: string): string | undefined => (id === "/virtual/verbs.ts" ? verbsModule() : undefined),
};
