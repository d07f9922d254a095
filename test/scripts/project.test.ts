/** `palimpsest init` and `palimpsest doctor` in projects as others have them. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { examineProject } from "../../scripts/cli/project/doctor.ts";
import { initProject } from "../../scripts/cli/project/init.ts";
import { addItem, addMember, parseJsonc } from "../../scripts/cli/project/jsonc.ts";
import { satisfies } from "../../scripts/cli/project/versions.ts";
import { createPaint } from "../../scripts/report/paint.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const paint = createPaint(false);
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-project-"));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const read = (folder: string, path: string): string => readFileSync(join(folder, path), "utf8");

const starter = (name: string): string => readFileSync(join(ROOT, "scripts/consumers/starter", `${name}.txt`), "utf8");

/** As Cloudflare's starter writes them. */
const STARTER = {
  "package.json": starter("package.json"),
  "wrangler.jsonc": starter("wrangler.jsonc"),
  "src/server.ts": starter("server.ts"),
};

interface Found {
  readonly findings: readonly { readonly check: string; readonly state: string; readonly advice?: string }[];
}

const wrongIn = (folder: string): string[] =>
  (examineProject(folder, paint).answer as Found).findings
    .filter(({ state }) => state === "wrong")
    .map(({ check }) => check);

/** What to do where the package is not installed yet. */
function adviceFor(files: Readonly<Record<string, string>>): string | undefined {
  const { findings } = examineProject(folderOf(files), paint).answer as Found;
  return findings.find(({ check }) => check === "package")?.advice;
}

/** As npm would install the package and its peers. */
function installInto(folder: string, versions: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, "node_modules/palimpsest"), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(folder, "node_modules/palimpsest/package.json"));
  for (const [name, version] of Object.entries(versions)) {
    mkdirSync(join(folder, "node_modules", name), { recursive: true });
    writeFileSync(join(folder, "node_modules", name, "package.json"), JSON.stringify({ version }));
  }
}

const PEERS = { agents: "0.32.0", ai: "7.0.173", zod: "4.6.7", "@cloudflare/ai-chat": "0.12.2" };

/** A plain agent with a loop of its own. */
const own = (loop: string, after = "60_000"): Readonly<Record<string, string>> => ({
  "wrangler.jsonc": `{ "main": "a.ts", "compatibility_date": "2026-05-01", "compatibility_flags": ["nodejs_compat"],
    "durable_objects": { "bindings": [{ "name": "A", "class_name": "Ada" }] }, "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Ada"] }],
    "workflows": [{ "name": "w", "binding": "COMPACTION_WORKFLOW", "class_name": "CompactionWorkflow" }] }`,
  "a.ts": `export { CompactionWorkflow } from "palimpsest";\nexport class Ada extends withCompaction(Agent) {\n  session = Session.create(this).compactAfter(${after});\n  ${loop}\n}\n`,
});

function advice(loop: string, ai: string): readonly (string | undefined)[] {
  const folder = folderOf(own(loop));
  installInto(folder, { ...PEERS, ai });
  const { findings } = examineProject(folder, paint).answer as Found;
  return findings.filter(({ state }) => state === "wrong").map((each) => each.advice);
}

describe("init", () => {
  test("shows what it would change in the starter, and writes nothing until it is told to", () => {
    const folder = folderOf(STARTER);
    const { lines } = initProject(folder, { yes: false, paint });
    expect(read(folder, "src/server.ts")).toBe(STARTER["src/server.ts"]);
    expect(read(folder, "wrangler.jsonc")).toBe(STARTER["wrangler.jsonc"]);
    const changed = lines.filter((line) => /^[+-] /.test(line));
    expect(changed).toEqual([
      "-   ]",
      "+   ],",
      '+   "workflows": [{ "name": "agent-starter-compaction", "binding": "COMPACTION_WORKFLOW", "class_name": "CompactionWorkflow" }]',
      '+ import { compactAfter, withCompaction } from "palimpsest/ai-chat";',
      '+ export { CompactionWorkflow } from "palimpsest"; // makes the summaries',
      "- export class ChatAgent extends AIChatAgent<Env> {",
      "+ export class ChatAgent extends withCompaction(AIChatAgent)<Env> {",
      "+   override compaction = compactAfter();",
      "+ ",
    ]);
    expect(lines).toContain("Nothing was written. Run it again with --yes.");
    expect(lines).toContain("Next: npm uninstall agents @cloudflare/ai-chat");
    expect(lines.join("\n")).toContain("const turn = await this.compacted({ tools })");
  });

  test("writes it once, keeps comments, and finds nothing to add after that", () => {
    const folder = folderOf(STARTER);
    initProject(folder, { yes: true, paint });
    expect(read(folder, "src/server.ts")).toContain("// Wait for MCP connections");
    const before = [read(folder, "wrangler.jsonc"), read(folder, "src/server.ts")];
    expect(initProject(folder, { yes: true, paint }).lines).toContain("Everything is there already.");
    expect([read(folder, "wrangler.jsonc"), read(folder, "src/server.ts")]).toEqual(before);
    expect(parseJsonc(before[0] ?? "").value).toMatchObject({
      workflows: [{ binding: "COMPACTION_WORKFLOW", class_name: "CompactionWorkflow" }],
      compatibility_flags: ["nodejs_compat"],
    });
  });

  test("a plain agent in a file of its own gets a session, and a class without one a migration", () => {
    const folder = folderOf({
      "wrangler.json": `{"name":"a","main":"src/index.ts","durable_objects":{"bindings":[{"name":"A","class_name":"Ada"}]}}`,
      "src/index.ts": 'export { Ada } from "./ada";\nexport default {};\n',
      "src/ada.ts": 'import { Agent } from "agents";\n\nexport class Ada extends Agent<Env, State> {\n}\n',
    });
    initProject(folder, { yes: true, paint });
    expect(read(folder, "src/ada.ts")).toBe(
      'import { Agent } from "agents";\nimport { Session, withCompaction } from "palimpsest";\n\nexport class Ada extends withCompaction(Agent<Env, State>) {\n  session = Session.create(this).compactAfter();\n\n}\n',
    );
    expect(read(folder, "src/index.ts")).toContain('export { CompactionWorkflow } from "palimpsest";');
    const { migrations } = parseJsonc(read(folder, "wrangler.json")).value as { readonly migrations: unknown };
    expect(migrations).toEqual([{ tag: "v1", new_sqlite_classes: ["Ada"] }]);
  });

  test("a plain Durable Object becomes an agent, whose own members stay", () => {
    const folder = folderOf({
      "wrangler.jsonc": `{\n\t"name": "a",\n\t"main": "src/index.ts",\n\t"durable_objects": {\n\t\t"bindings": [{ "name": "A", "class_name": "Ada" }]\n\t}\n\t// the end\n}\n`,
      "src/index.ts":
        'import { DurableObject } from "cloudflare:workers";\n\nexport class Ada extends DurableObject<Env> {\n\tasync chat() {}\n}\n',
    });
    const { lines } = initProject(folder, { yes: true, paint });
    expect(read(folder, "src/index.ts")).toBe(
      'import { Agent } from "agents";\nimport { Session, withCompaction } from "palimpsest";\nexport { CompactionWorkflow } from "palimpsest"; // makes the summaries\n\nexport class Ada extends withCompaction(Agent<Env>) {\n\tsession = Session.create(this).compactAfter();\n\n\tasync chat() {}\n}\n',
    );
    expect(read(folder, "wrangler.jsonc")).toContain('\t},\n\t"workflows": [');
    expect(lines.join("\n")).toContain("Ada becomes an Agent");
    expect(wrongIn(folder).filter((check) => check === "agent")).toEqual([]);
  });

  test.each(["agents/experimental/memory/session", "agents/sessions"])(
    "an agent with sessions of the SDK (%s) keeps its own, and is told the page that leads from them",
    (module) => {
      const folder = folderOf({
        "wrangler.jsonc": `{ "main": "a.ts", "durable_objects": { "bindings": [{ "name": "A", "class_name": "Ada" }] } }`,
        "a.ts": `import { Agent } from "agents";\nimport { Session } from "${module}";\nexport class Ada extends Agent {\n  session = Session.create(this);\n}\n`,
      });
      const { lines } = initProject(folder, { yes: true, paint });
      const text = read(folder, "a.ts");
      expect(text).toContain('import { withCompaction } from "palimpsest";');
      expect(text.match(/session = /g)).toHaveLength(1);
      const [page = ""] =
        /docs\/[\w.-]+\.md/.exec(lines.find((line) => line.startsWith("Next:") && line.includes(module)) ?? "") ?? [];
      expect(readFileSync(join(ROOT, page), "utf8")).toContain(module);
    },
  );

  test("a folder without a Worker, and a Worker without an agent, are told what to do", () => {
    expect(() => initProject(folderOf({}), { yes: true, paint })).toThrow("There is no wrangler.jsonc");
    expect(() => initProject(folderOf({ "wrangler.toml": "" }), { yes: true, paint })).toThrow(
      "Write it as wrangler.jsonc",
    );
    const noMain = folderOf({ "wrangler.jsonc": "{}" });
    expect(() => initProject(noMain, { yes: true, paint })).toThrow('set "main"');
    const noAgent = folderOf({ "wrangler.jsonc": '{ "main": "a.ts" }', "a.ts": "export default {};" });
    expect(() => initProject(noAgent, { yes: true, paint })).toThrow(
      "extends Agent, AIChatAgent, Think or DurableObject",
    );
  });
});

const bound = (...names: readonly string[]): string =>
  JSON.stringify({
    main: "a.ts",
    durable_objects: { bindings: names.map((name) => ({ name: name.toUpperCase(), class_name: name })) },
    migrations: [{ tag: "v1", new_sqlite_classes: names }],
  });

describe("init, beside other classes", () => {
  test("a second run adds compaction to no class that nobody named", () => {
    const files = {
      "a.ts":
        'import { DurableObject } from "cloudflare:workers";\nexport class Room extends DurableObject {\n}\nexport class Limiter extends DurableObject {\n  take() {}\n}\n',
    };
    const folder = folderOf({ "wrangler.json": bound("Room", "Limiter"), ...files });
    const first = initProject(folder, { yes: true, paint }).lines.join("\n");
    expect(first).toContain("Room was taken. To take another, name it: --agent-class Limiter.");
    const text = read(folder, "a.ts");
    expect(text).toContain("class Limiter extends DurableObject {");
    const again = initProject(folder, { yes: true, paint }).lines;
    expect(again).toContain("Everything is there already.");
    expect(again.join("\n")).toContain("npx palimpsest --agent-class Limiter init");
    expect(read(folder, "a.ts")).toBe(text);
  });

  test("the class that is named is taken, as the code or an address names it, and another name is refused", () => {
    const files = {
      "a.ts": "export class Limiter extends DurableObject {}\nexport class RoomAgent extends DurableObject {\n}\n",
    };
    const folder = folderOf({ "wrangler.json": bound("Limiter", "RoomAgent"), ...files });
    expect(() => initProject(folder, { yes: true, paint, agentClass: "Rooms" })).toThrow(
      'No bound class is called "Rooms". There are: Limiter, RoomAgent.',
    );
    initProject(folder, { yes: true, paint, agentClass: "room-agent" });
    expect(read(folder, "a.ts")).toContain("class RoomAgent extends withCompaction(Agent) {");
    expect(read(folder, "a.ts")).toContain("class Limiter extends DurableObject {}");
    writeFileSync(join(folder, "a.ts"), "export class Limiter extends Other {}\nexport class RoomAgent {}\n");
    expect(() => initProject(folder, { yes: true, paint, agentClass: "Limiter" })).toThrow("Limiter extends Other");
  });

  test("two classes of one file share the imports that they have in common, and a name of two modules is told apart", () => {
    const folder = folderOf({
      "wrangler.json": bound("Ada", "Bob", "Cyd"),
      "a.ts":
        'import {\n  callable,\n  Agent\n} from "agents";\nimport { AIChatAgent } from "@cloudflare/ai-chat";\nimport { DurableObject } from "cloudflare:workers";\nexport class Ada extends Agent {\n}\nexport class Bob extends AIChatAgent<Env> {\n}\nexport class Cyd extends DurableObject {\n}\n',
    });
    for (const agentClass of ["Ada", "Bob", "Cyd"]) initProject(folder, { yes: true, paint, agentClass });
    const text = read(folder, "a.ts");
    const names = [...text.matchAll(/^import\s*\{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
      list.split(",").map((each) => each.trim().split(" as ").at(-1)),
    );
    expect(names.toSorted((a = "", b = "") => (a < b ? -1 : 1))).toEqual([
      "AIChatAgent",
      "Agent",
      "Session",
      "callable",
      "compactAfter",
      "withChatCompaction",
      "withCompaction",
    ]);
    expect(text).toContain("class Bob extends withChatCompaction(AIChatAgent)<Env> {");
    expect(text).toContain("class Cyd extends withCompaction(Agent) {");
    expect(text).not.toContain("cloudflare:workers");
    expect(examineProject(folder, paint).lines).toContain("ok    agent: Ada (Agent), Bob (AIChatAgent), Cyd (Agent)");
  });

  test("a class that keeps its storage as keys and values is refused, before anything is changed", () => {
    const config = `{ "main": "a.ts", "durable_objects": { "bindings": [{ "name": "A", "class_name": "Ada" }] }, "migrations": [{ "tag": "v1", "new_classes": ["Old"] }, { "tag": "v2", "renamed_classes": [{ "from": "Old", "to": "Ada" }] }] }`;
    const folder = folderOf({ "wrangler.json": config, "a.ts": "export class Ada extends DurableObject {}\n" });
    expect(() => initProject(folder, { yes: true, paint })).toThrow("new_sqlite_classes");
    expect(read(folder, "wrangler.json")).toBe(config);
    expect(read(folder, "a.ts")).toBe("export class Ada extends DurableObject {}\n");
  });

  test("what is still open is named until it is done", () => {
    const folder = folderOf({
      "wrangler.json": bound("Ada"),
      "a.ts":
        'import { DurableObject } from "cloudflare:workers";\ninterface Env {\n  ADA: DurableObjectNamespace;\n}\nexport class Ada extends DurableObject<Env> {\n  override async fetch(request: Request): Promise<Response> {\n    const all = `{ ${"}"} `; // }\n    return fetch(request);\n  }\n  async alarm() {}\n  async webSocketMessage() {}\n  private sql: SqlStorage;\n}\nexport default { fetch: () => new Response("x") };\n',
    });
    const open = (): string =>
      initProject(folder, { yes: true, paint })
        .lines.filter((line) => line.startsWith("Next: "))
        .join("\n");
    const change = (from: string, to: string): void =>
      writeFileSync(join(folder, "a.ts"), read(folder, "a.ts").replace(from, to));
    open();
    const again = open();
    for (const each of [
      "Ada.fetch",
      "Ada.alarm",
      "Ada.sql",
      "sockets",
      "routeAgentRequest",
      "appendMessage",
      "interface Env",
      "model",
    ]) {
      expect(again).toContain(each);
    }
    change("override async fetch(", "override async onRequest(");
    change("async alarm()", "async wake()");
    change("private sql", "#sql");
    change("webSocketMessage", "onMessage");
    expect(open()).not.toMatch(/Ada\.(?:fetch|alarm|sql)|sockets/);
    change('new Response("x")', "routeAgentRequest(request, env)");
    expect(open()).not.toContain("routeAgentRequest");
    change(
      "async wake() {}",
      "async wake() {\n    await this.session.getView();\n    await this.session.appendMessage(message);\n  }",
    );
    expect(open()).not.toContain("appendMessage");
    change("ADA: DurableObjectNamespace;", "COMPACTION_WORKFLOW: Workflow;");
    expect(open()).not.toContain("interface Env");
  });
});

describe("doctor", () => {
  test("a session of agents 0.20 is named with the page that leads from it, and its threshold is none of ours", () => {
    const folder = folderOf({
      "wrangler.json": bound("Ada"),
      "a.ts":
        'import { Agent } from "agents";\nimport { Session } from "agents/experimental/memory/session";\nexport class Ada extends Agent {\n  session = Session.create(this).compactAfter(40_000);\n}\n',
    });
    expect(wrongIn(folder)).toEqual(expect.arrayContaining(["a.ts", "threshold"]));
    expect(examineProject(folder, paint).lines.join("\n")).toContain("docs/from-agents-0.20.md");
  });

  test("before the package is installed, it says the install lines of the page, by the AI SDK that is there", () => {
    const page = read(ROOT, "docs/ai-chat.md");
    const [, section = ""] = /^## Into Cloudflare's starter$([\s\S]*?)^## /m.exec(page) ?? [];
    const [sixth = ""] = [...section.matchAll(/^```sh\n([\s\S]*?)\nnpx palimpsest init/gm)].map(([, lines]) => lines);
    expect(adviceFor(STARTER)).toBe(sixth.replace("\n", ", then "));
    expect(adviceFor({ ...STARTER, "package.json": '{"dependencies":{"agents":"^0.20.0","ai":"^7.0.0"}}' })).toBe(
      "npm uninstall agents, then npm install palimpsest agents",
    );
    expect(adviceFor({ ...STARTER, "package.json": '{"dependencies":{"agents":"^0.32.0"}}' })).toBe(
      "npm install palimpsest ai zod",
    );
  });

  test("names all that keeps the starter from working, and nothing once that is done", () => {
    const folder = folderOf(STARTER);
    installInto(folder, { ...PEERS, agents: "0.17.3", "palimpsest/node_modules/ai": "7.0.1" });
    expect(wrongIn(folder)).toEqual(["agents", "ai", "agent", "workflow", "threshold", "ChatAgent", "ChatAgent"]);
    expect(examineProject(folder, paint).exitCode).toBe(1);
    rmSync(join(folder, "node_modules"), { recursive: true });
    installInto(folder, PEERS);
    initProject(folder, { yes: true, paint });
    expect(wrongIn(folder)).toEqual(["ChatAgent", "ChatAgent"]);
    const server = read(folder, "src/server.ts").replace("  chatRecovery = true;\n", "");
    writeFileSync(join(folder, "src/server.ts"), `${server}// this.compacted({ tools })\n`);
    expect(wrongIn(folder)).toEqual([]);
    const { lines, exitCode } = examineProject(folder, paint);
    expect(exitCode).toBe(0);
    expect(lines.join("\n")).toContain("poor  model: none, so summaries only quote the conversation");
    expect(lines.slice(-2)).toEqual([
      "0 wrong, 2 poor.",
      "Only files were read. Whether the agent starts with its options says npx palimpsest --agent-class ChatAgent runs, while the Worker runs.",
    ]);
  });

  test("an agent whose loop stores no message, or never reads the view, is wrong, and told the page for its AI SDK", () => {
    const page =
      "Store each message with session.appendMessage, and send your model session.getView() (node_modules/palimpsest/docs/chat.md";
    expect(advice("history = [];", "7.0.173")).toEqual([`${page}).`]);
    expect(advice("say = () => this.session.appendMessage(m);", "6.0.326")).toEqual([`${page}, "With the AI SDK 6").`]);
    expect(advice("say = () => this.session.getView();", "7.0.173")).toEqual([`${page}).`]);
    expect(advice("say = () => [this.session.appendMessage(m), this.session.getView()];", "7.0.173")).toEqual([]);
    expect(advice("say = () => keepTurn(this.session, { replyId });", "7.0.173")).toEqual([]);
  });

  test.each([
    ["0", ["threshold"]],
    ["-5", ["threshold"]],
    ['"6000"', ["threshold"]],
    ["0.5 * WINDOW", []],
    ["60_000", []],
    ['"auto", { windowTokens: 200_000 }', []],
  ])("a threshold with which no agent starts is wrong: compactAfter(%s)", (after, wrong) => {
    const folder = folderOf(own("say = () => keepTurn(this.session, { replyId });", after));
    installInto(folder, PEERS);
    expect(wrongIn(folder)).toEqual(wrong);
  });

  test.each(["minimal", "chat", "ai-chat", "think", "sessions", "start"])(
    "finds nothing wrong in examples/%s",
    (name) => {
      const folder = folderOf({});
      cpSync(join(ROOT, "examples", name), folder, { recursive: true });
      installInto(folder, PEERS);
      expect(wrongIn(folder)).toEqual([]);
    },
  );
});

function within(range: string, ...versions: string[]): boolean[] {
  return versions.map((each) => satisfies(each, range));
}

test("a version is in the ranges that peers have, as npm says it", () => {
  expect(within("^6.0.0 || ^7.0.0", "6.0.0", "7.9.1", "5.9.9", "8.0.0")).toEqual([true, true, false, false]);
  expect(within(">=0.24.0 <1", "0.24.0", "0.32.1", "0.23.9", "1.0.0")).toEqual([true, true, false, false]);
  expect(within("^0.12.1", "0.12.1", "0.12.9", "0.13.0", "0.12.0")).toEqual([true, true, false, false]);
});

test("members and items are added where the others stand, with a trailing comma and without", () => {
  expect(addMember("{}", "a", 1)).toBe('{"a": 1}');
  expect(addMember('{ "a": 1 }', "b", [{ c: "d" }])).toBe('{ "a": 1, "b": [{ "c": "d" }] }');
  expect(addMember('{\n  "a": 1, // one\n}\n', "b", 2)).toBe('{\n  "a": 1, // one\n  "b": 2,\n}\n');
  expect(addMember('{\n  "a": "}" /* , */\n}', "b", 2)).toBe('{\n  "a": "}", /* , */\n  "b": 2\n}');
  expect(addItem('{ "a": [] }', "a", 1)).toBe('{ "a": [1] }');
  expect(addItem('{ "a": [1,] }', "a", 2)).toBe('{ "a": [1, 2] }');
  expect(() => parseJsonc('{\n "a": }')).toThrow("Line 2 is no JSON.");
  expect(() => parseJsonc("{} {}")).toThrow(SyntaxError);
});
