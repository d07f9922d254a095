/** A project on this machine, as far as an agent needs it: its configuration of wrangler, its Worker's files and its packages. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { CommandFailure, EXIT } from "../failure.ts";
import { parseJsonc } from "./jsonc.ts";

export interface Binding {
  readonly name?: string;
  readonly binding?: string;
  readonly class_name?: string;
  /** Set where the class is another Worker's. */
  readonly script_name?: string;
}

interface Renamed {
  readonly from: string;
  readonly to: string;
}

export interface Config {
  readonly name?: string;
  readonly main?: string;
  readonly compatibility_date?: string;
  readonly compatibility_flags?: readonly string[];
  readonly durable_objects?: { readonly bindings?: readonly Binding[] };
  readonly migrations?: readonly {
    readonly tag?: string;
    readonly new_sqlite_classes?: readonly string[];
    readonly new_classes?: readonly string[];
    readonly renamed_classes?: readonly Renamed[];
    readonly transferred_classes?: readonly Renamed[];
  }[];
  readonly workflows?: readonly Binding[];
  readonly ai?: { readonly binding?: string };
  readonly vars?: Readonly<Record<string, unknown>>;
}

export interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface SourceFile {
  /** From the project's folder. */
  readonly path: string;
  readonly text: string;
}

export interface Project {
  readonly folder: string;
  readonly configPath: string;
  readonly configText: string;
  readonly config: Config;
  readonly manifest: Manifest;
  /** The file that wrangler starts. */
  readonly main: SourceFile;
  /** It, and all other sources beside it and below. */
  readonly sources: readonly SourceFile[];
}

/** The name of the binding that an agent looks for. */
export const WORKFLOW_BINDING = "COMPACTION_WORKFLOW";

/** Throws a {@link CommandFailure} that says what is missing. */
export function readProject(folder: string): Project {
  const configPath = ["wrangler.jsonc", "wrangler.json"].find((name) => existsSync(join(folder, name)));
  if (configPath === undefined) {
    const toml = existsSync(join(folder, "wrangler.toml"));
    throw missing(
      toml
        ? "wrangler.toml is not read. Write it as wrangler.jsonc, which wrangler prefers, or follow deploy.md of the package by hand."
        : `There is no wrangler.jsonc in ${folder}. Run this in the folder of a Worker, or begin with README.md.`,
    );
  }
  const configText = readFileSync(join(folder, configPath), "utf8");
  const config = parseJsonc(configText).value as Config;
  const manifest = readManifest(join(folder, "package.json")) ?? {};
  if (typeof config.main !== "string" || !existsSync(join(folder, config.main))) {
    throw missing(`${configPath} names no file of the Worker that is there: set "main".`);
  }
  const main = { path: config.main, text: readFileSync(join(folder, config.main), "utf8") };
  const beside = globSync("**/*.{ts,tsx,js,mjs}", {
    cwd: join(folder, dirname(config.main)),
    exclude: (name) => /^(?:node_modules|dist|\.\w+)$/.test(name),
  });
  const others = beside
    .map((path) => relative(folder, join(folder, dirname(config.main ?? ""), path)))
    .filter((path) => path !== relative(folder, join(folder, main.path)) && !path.endsWith(".d.ts"))
    .map((path) => ({ path, text: readFileSync(join(folder, path), "utf8") }));
  return { folder, configPath, configText, config, manifest, main, sources: [main, ...others] };
}

function missing(message: string): CommandFailure {
  return new CommandFailure(EXIT.usage, message, "not_configured");
}

export function readManifest(path: string): Manifest | null {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Manifest) : null;
}

/** What a class extends, and its file. */
export interface Declared {
  readonly name: string;
  readonly file: SourceFile;
  /** The base class without its type arguments, such as `Agent`. */
  readonly base: string;
  /** Whether it is compacted already. */
  readonly isOurs: boolean;
}

/** The base class, also within a call such as the one that adds compaction to it. */
const BASE = /\bextends\s+(?:(\w+)\(\s*)?(\w+)/;

/** The classes of the Worker's own Durable Objects. */
export function declaredAgents({ config, sources }: Project): Declared[] {
  const names = (config.durable_objects?.bindings ?? []).flatMap(({ class_name, script_name }) =>
    class_name === undefined || script_name !== undefined ? [] : [class_name],
  );
  return [...new Set(names)].flatMap((name) => {
    const head = new RegExp(`\\bclass ${name}\\b[^{]*`);
    const file = sources.find(({ text }) => head.test(text));
    if (file === undefined) return [];
    const [declaration = ""] = head.exec(file.text) ?? [];
    const [, call = "", base = ""] = BASE.exec(declaration) ?? [];
    const isCompacted =
      call === "withCompaction" || (call !== "" && new RegExp(`\\bwithCompaction as ${call}\\b`).test(file.text));
    const isOurs = isCompacted || /\bwithCompaction\b/.test(declaration);
    return [{ name, file, base: call === "" || isCompacted ? base : call, isOurs }];
  });
}

/** Where the platform keeps what a class stores. Absent for a class that no migration names. */
export function storageOf({ migrations = [] }: Config, name: string): "SQLite" | "keys and values" | undefined {
  const kept = new Map<string, "SQLite" | "keys and values">();
  for (const each of migrations) {
    for (const made of each.new_sqlite_classes ?? []) kept.set(made, "SQLite");
    for (const made of each.new_classes ?? []) kept.set(made, "keys and values");
    const moved = [...(each.renamed_classes ?? []), ...(each.transferred_classes ?? [])];
    for (const { from, to } of moved) kept.set(to, kept.get(from) ?? "SQLite");
  }
  return kept.get(name);
}

/** Why a class cannot be an agent's, and what to do. */
export const NEEDS_SQLITE =
  "An agent needs SQLite, which a class has from its first migration on. One that was never deployed moves from new_classes to new_sqlite_classes. For a deployed one, bind a new class by new_sqlite_classes, and read what the old one stored into it.";

/** What a class declares between its braces. */
export function bodyOf({ name, file: { text } }: Declared): string {
  const head = new RegExp(`\\bclass ${name}\\b[^{]*`).exec(text);
  if (head === null) return "";
  const [line = ""] = /^.*/.exec(text.slice(head.index)) ?? [];
  if (line.trimEnd().endsWith("}")) return line;
  const ended = text.indexOf("\n}", head.index);
  return text.slice(head.index, ended === -1 ? undefined : ended);
}

/** Whether a class has a method of its own with this name. */
export function hasMethod(declared: Declared, method: string): boolean {
  return new RegExp(`^[ \\t]*(?:(?:override|public|async)[ \\t]+)*${method}\\([^{;\\n]*\\{`, "m").test(
    bodyOf(declared),
  );
}

/** A field of a class under a name that an Agent has. */
const HIDING =
  /\bthis\.(sql|state)\s*=(?!=)|^[ \t]+(?:(?:private|public|protected|readonly|declare)[ \t]+)*(sql|state)[!?]?:[^,;\n]*;/m;

/** The member of an Agent that a field of the class hides. */
export function hiddenMember(declared: Declared): string | undefined {
  const [, set, field] = HIDING.exec(bodyOf(declared)) ?? [];
  return set ?? field;
}

/** Base classes that keep the messages themselves, with the subpath for each. */
export const HOSTS: Readonly<Record<string, string>> = { AIChatAgent: "palimpsest/ai-chat", Think: "palimpsest/think" };

/** The base class of a Durable Object that is no agent yet. */
export const PLAIN_OBJECT = "DurableObject";

/** Where a project has the package's pages. */
export const PAGES = "node_modules/palimpsest/docs";

/** The module that agents 0.24 and later do not have. */
export const SESSIONS_OF_0_20 = "agents/experimental/memory/session";

/** Modules of the SDK that keep a conversation, and the page for each. */
export const SDK_SESSIONS: Readonly<Record<string, string>> = {
  [SESSIONS_OF_0_20]: `${PAGES}/from-agents-0.20.md`,
  "agents/sessions": `${PAGES}/agents-sessions.md, or ${PAGES}/from-agents-sessions.md to leave them,`,
};

/** The module of the SDK in which the code keeps a conversation. */
export function sdkSessionsIn(text: string): string | undefined {
  return Object.keys(SDK_SESSIONS).find(
    (module) => text.includes(`from "${module}"`) || text.includes(`from '${module}'`),
  );
}

/** Whether the Worker's entry exports a class of this name, in any of the forms. */
export function exportsClass({ main }: Project, name: string): boolean {
  const declared = new RegExp(`export\\s+(?:default\\s+)?class\\s+${name}\\b`);
  const listed = new RegExp(`export\\s*\\{[^}]*\\b${name}\\b[^}]*\\}`);
  return declared.test(main.text) || listed.test(main.text);
}
