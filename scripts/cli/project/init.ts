/** `palimpsest init`: adds to a project what an agent needs to be compacted, and shows the change before it is written. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Paint } from "../../report/paint.ts";
import type { Done } from "../commands.ts";
import { classPath } from "../class-path.ts";
import { CommandFailure, EXIT } from "../failure.ts";
import { diffLines } from "./diff-lines.ts";
import { addItem, addMember } from "./jsonc.ts";
import {
  declaredAgents,
  exportsClass,
  hasMethod,
  hiddenMember,
  HOSTS,
  NEEDS_SQLITE,
  PAGES,
  PLAIN_OBJECT,
  readProject,
  SDK_SESSIONS,
  sdkSessionsIn,
  storageOf,
  WORKFLOW_BINDING,
  type Declared,
  type Project,
  type SourceFile,
} from "./project.ts";
import { omissionsOf } from "./omissions.ts";
import { installLines } from "./versions.ts";

interface Change {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

interface InitOptions {
  readonly yes: boolean;
  readonly paint: Paint;
  /** The class to take, as the code or its addresses name it. */
  readonly agentClass?: string | undefined;
}

export function initProject(folder: string, { yes, paint, agentClass }: InitOptions): Done {
  const project = readProject(folder);
  const { agent, others } = chooseAgent(project, agentClass);
  const changes = [changeConfig(project), ...changeSources(project, agent)].filter(
    ({ before, after }) => before !== after,
  );
  if (yes) for (const { path, after } of changes) writeFileSync(join(folder, path), after);
  const next = stepsAfter(withChanges(project, changes));
  const diff = changes.flatMap((change) => showChange(change, paint));
  const told =
    changes.length === 0
      ? "Everything is there already."
      : yes
        ? `Written: ${changes.map(({ path }) => path).join(", ")}.`
        : "Nothing was written. Run it again with --yes.";
  return {
    answer: { written: yes, changes: changes.map(({ path, after }) => ({ path, after })), next },
    lines: [...diff, ...tellChoice(agent, others), told, ...next.map((step) => `Next: ${step}`)],
  };
}

interface Choice {
  /** The class that gets compaction now, if any does. */
  readonly agent: Declared | undefined;
  /** Those that could have it as well. */
  readonly others: readonly Declared[];
}

/** A class that nobody named is taken only where none has compaction yet. */
function chooseAgent(project: Project, named: string | undefined): Choice {
  const { config, configPath } = project;
  const agents = declaredAgents(project);
  const open = agents.filter(
    ({ isOurs, base }) => !isOurs && (base === "Agent" || base === PLAIN_OBJECT || Object.hasOwn(HOSTS, base)),
  );
  const fits = open.filter(({ name }) => storageOf(config, name) !== "keys and values");
  const first = fits.find(({ base }) => base !== PLAIN_OBJECT) ?? fits[0] ?? open[0];
  const isDone = agents.some(({ isOurs }) => isOurs);
  const chosen =
    named === undefined
      ? isDone
        ? undefined
        : first
      : agents.find(({ name }) => name === named || classPath(name) === classPath(named));
  if (named !== undefined && chosen === undefined) {
    const names = agents.map(({ name }) => name).join(", ");
    throw unable(`No bound class is called "${named}". There are: ${names}.`);
  }
  if (chosen === undefined && !isDone) {
    throw unable(
      `No class of a Durable Object in ${configPath} extends Agent, AIChatAgent, Think or DurableObject. Begin with README.md.`,
    );
  }
  if (chosen !== undefined && !chosen.isOurs && !open.includes(chosen)) {
    throw unable(`${chosen.name} extends ${chosen.base}, and not Agent, AIChatAgent, Think or DurableObject.`);
  }
  if (chosen !== undefined && storageOf(config, chosen.name) === "keys and values") {
    throw unable(`${configPath} makes ${chosen.name} with keys and values (new_classes). ${NEEDS_SQLITE}`);
  }
  const agent = chosen?.isOurs === false ? chosen : undefined;
  // Who named one knows of the others.
  const others = named === undefined ? open.filter((each) => each !== agent) : [];
  return { agent, others };
}

function unable(message: string): CommandFailure {
  return new CommandFailure(EXIT.usage, message, "not_configured");
}

function tellChoice(agent: Declared | undefined, others: readonly Declared[]): string[] {
  const names = others.map(({ name }) => name).join(", ");
  const [first] = others;
  const lines: string[] = [];
  if (agent?.base === PLAIN_OBJECT) {
    lines.push(`${agent.name} becomes an Agent, which is a Durable Object: its storage and methods stay.`);
  }
  if (first === undefined) return lines;
  return agent === undefined
    ? [
        ...lines,
        `Without compaction: ${names}. To add it there as well: npx palimpsest --agent-class ${first.name} init`,
      ]
    : [...lines, `${agent.name} was taken. To take another, name it: --agent-class ${names}.`];
}

/** The Workflow that summarises, the flag that the SDK needs, and a migration for a class that has none. */
function changeConfig(project: Project): Change {
  const { config, configPath, configText } = project;
  let after = configText;
  const { name = "agent", workflows = [], compatibility_flags = [], migrations = [] } = config;
  if (!workflows.some(({ binding }) => binding === WORKFLOW_BINDING)) {
    const workflow = { name: `${name}-compaction`, binding: WORKFLOW_BINDING, class_name: "CompactionWorkflow" };
    after = addItem(after, "workflows", workflow);
  }
  if (!compatibility_flags.includes("nodejs_compat")) after = addItem(after, "compatibility_flags", "nodejs_compat");
  const without = declaredAgents(project).filter((declared) => storageOf(config, declared.name) === undefined);
  if (without.length > 0) {
    const migration = { tag: `v${migrations.length + 1}`, new_sqlite_classes: without.map((each) => each.name) };
    after =
      migrations.length === 0 ? addMember(after, "migrations", [migration]) : addItem(after, "migrations", migration);
  }
  return { path: configPath, before: configText, after };
}

function changeSources(project: Project, agent: Declared | undefined): Change[] {
  const texts = new Map(project.sources.map(({ path, text }) => [path, text]));
  const edit = (path: string, change: (text: string) => string): void =>
    void texts.set(path, change(texts.get(path) ?? ""));
  if (agent !== undefined) edit(agent.file.path, (text) => declare(text, agent));
  if (!exportsClass(project, "CompactionWorkflow")) {
    edit(project.main.path, (text) =>
      addLine(text, 'export { CompactionWorkflow } from "palimpsest"; // makes the summaries'),
    );
  }
  return project.sources.map(({ path, text }) => ({ path, before: text, after: texts.get(path) ?? text }));
}

/** The project as it is with these changes. */
function withChanges(project: Project, changes: readonly Change[]): Project {
  const changed = ({ path, text }: SourceFile): SourceFile => ({
    path,
    text: changes.find((each) => each.path === path)?.after ?? text,
  });
  return { ...project, main: changed(project.main), sources: project.sources.map(changed) };
}

/**
 * `class Chat extends AIChatAgent<Env> {` becomes a class with compaction, and with the one line that says when. A plain Durable Object becomes
 * an Agent.
 */
function declare(original: string, { name, base }: Declared): string {
  const from = HOSTS[base];
  const isPlain = base === PLAIN_OBJECT;
  const host = /^(?:AI)?([A-Z][a-z]+)/.exec(base)?.[1] ?? "";
  // Sessions of the SDK have a page of their own, and a member of the same name.
  const hasSessions = from === undefined && sdkSessionsIn(original) !== undefined;
  let text = original;
  /** Imports a name, and returns what this file calls it. */
  const imported = (module: string, wanted: string): string => {
    const [changed, called] = addName(text, { module, name: wanted, host });
    text = changed;
    return called;
  };
  const ours = isPlain ? imported("agents", "Agent") : base;
  const module = from ?? "palimpsest";
  const added = hasSessions ? null : imported(module, from === undefined ? "Session" : "compactAfter");
  const call = imported(module, "withCompaction");
  const line =
    from === undefined ? `session = ${added}.create(this).compactAfter();` : `override compaction = ${added}();`;
  const head = new RegExp(
    `(\\bclass ${name}\\b[^{]*?\\bextends\\s+)${base}(\\s*<[^{]*>)?(\\s*(?:implements[^{]*)?\\{)(?=\\n([ \\t]*)|)`,
  );
  const compacted = text.replace(head, (_whole, ...[before, types = "", open, indent = ""]: readonly string[]) => {
    const called = from === undefined ? `${call}(${ours}${types})` : `${call}(${ours})${types}`;
    return `${before}${called}${open}${hasSessions ? "" : `\n${indent === "" ? "  " : indent}${line}\n`}`;
  });
  return isPlain ? dropUnused(compacted, PLAIN_OBJECT) : compacted;
}

/** The names that a file imports from a module by one statement. */
const namesFrom = (module: string): RegExp =>
  new RegExp(`^(import\\s*\\{)([^}]*)(\\}\\s*from\\s*["']${module}["'])`, "m");

/** Imports a name in the statement that its module has, or in a new one. Returns the text, and what the file calls it. */
function addName(
  text: string,
  { module, name, host }: { readonly module: string; readonly name: string; readonly host: string },
): [text: string, called: string] {
  const statement = namesFrom(module);
  const [whole, , names = ""] = statement.exec(text) ?? [];
  const there = names.split(",").map((each) => each.trim().split(/\s+as\s+/));
  const known = there.find(([each]) => each === name)?.at(-1);
  if (known !== undefined) return [text, known];
  const called = isTaken(text, name) ? name.replace(/^[a-z]*/, (verb) => verb + host) : name;
  const clause = called === name ? name : `${name} as ${called}`;
  if (whole === undefined) return [addLine(text, `import { ${clause} } from "${module}";`), called];
  const kept = names.trimEnd().replace(/,$/, "");
  const next = /\n[ \t]*/.exec(names)?.[0] ?? " ";
  const end = names.slice(names.trimEnd().length);
  return [text.replace(statement, (_, open, _names, close) => `${open}${kept},${next}${clause}${end}${close}`), called];
}

/** Whether a file imports or declares a name at its top level. */
function isTaken(text: string, name: string): boolean {
  const imports = [...text.matchAll(IMPORTS)].map(([line]) => line).join("");
  const declared = new RegExp(
    `^(?:export\\s+)?(?:abstract\\s+)?(?:class|const|let|function|interface|type)\\s+${name}\\b`,
    "m",
  );
  return new RegExp(`\\b${name}\\b(?!\\s+as\\b)`).test(imports) || declared.test(text);
}

/** Drops a name that only its import still has. */
function dropUnused(text: string, name: string): string {
  if ([...text.matchAll(new RegExp(`\\b${name}\\b`, "g"))].length > 1) return text;
  return text
    .replace(new RegExp(`^import\\s*\\{\\s*${name}\\s*,?\\s*\\}[^\\n]*\\n`, "m"), "")
    .replace(new RegExp(`^(import\\b[^;]*?)\\b${name}\\s*,\\s*`, "m"), "$1")
    .replace(new RegExp(`^(import\\b[^;]*?),\\s*${name}\\b`, "m"), "$1");
}

const IMPORTS = /^import\b[^;]*?(?:from\s+)?["'][^"'\n]+["'];?[^\n]*\n/gm;

/** Behind the last import, or at the top. */
function addLine(text: string, line: string): string {
  const last = [...text.matchAll(IMPORTS)].at(-1);
  const at = last === undefined ? 0 : last.index + last[0].length;
  return `${text.slice(0, at)}${line}\n${text.slice(at)}`;
}

/** What no program should change by itself, and is not done yet. */
function stepsAfter(project: Project): string[] {
  const { manifest, sources } = project;
  const { dependencies = {}, devDependencies = {} } = manifest;
  const ours = declaredAgents(project).filter(({ isOurs }) => isOurs);
  const plain = ours.filter(({ base }) => HOSTS[base] === undefined);
  const says = (pattern: RegExp): boolean => sources.some(({ text }) => pattern.test(text));
  const steps: string[] = [];
  if (dependencies["palimpsest"] === undefined && devDependencies["palimpsest"] === undefined) {
    steps.push(...installLines(project));
  }
  steps.push(...new Set(ours.flatMap((each) => omissionsOf(each, project).map(({ advice }) => advice))));
  for (const agent of plain) {
    if (hasMethod(agent, "fetch")) {
      steps.push(`${agent.name}.fetch keeps clients from the agent: call it onRequest, which gets the same requests`);
    }
    if (["webSocketMessage", "webSocketClose", "webSocketError"].some((method) => hasMethod(agent, method))) {
      steps.push(`${agent.name} answers its sockets past the agent: call the methods onMessage, onClose and onError`);
    }
    const hidden = hiddenMember(agent);
    if (hidden !== undefined) {
      steps.push(`${agent.name}.${hidden} hides the agent's own, and calls fail: give it another name, as #${hidden}`);
    }
    if (hasMethod(agent, "alarm")) {
      steps.push(`${agent.name}.alarm stands in the way of the agent's own: make it a method that this.schedule calls`);
    }
  }
  if (!says(/\b(?:routeAgentRequest|createWorker|agentsMiddleware)\b/)) {
    steps.push("answer routeAgentRequest(request, env) in the Worker's fetch, or nothing reaches the agent");
  }
  const moving = plain.find(({ file }) => sdkSessionsIn(file.text) !== undefined);
  if (moving !== undefined && !says(/\b(?:importFrom|durable)\(/)) {
    const sdk = sdkSessionsIn(moving.file.text) ?? "";
    steps.push(`the agent's messages are in ${sdk}: ${SDK_SESSIONS[sdk]} leads from there`);
  }
  if (!says(/\bmodel\s*\(/)) {
    steps.push(`give the Workflow a model, or its summaries only quote (${PAGES}/models.md)`);
  }
  const own = sources.find(({ text }) => /^(?:export )?interface Env \{/m.test(text));
  if (own !== undefined && !own.text.includes(WORKFLOW_BINDING)) {
    steps.push(
      `delete the interface Env of ${own.path}, which lacks ${WORKFLOW_BINDING}: npx wrangler types writes one`,
    );
  }
  return [...steps, "npx palimpsest doctor"];
}

function showChange({ path, before, after }: Change, paint: Paint): string[] {
  const lines = diffLines(before, after).map(({ kind, line }) =>
    kind === "added" ? paint(`+ ${line}`, "green") : kind === "removed" ? paint(`- ${line}`, "red") : `  ${line}`,
  );
  return [paint(path, "bold"), ...lines, ""];
}
