/** `palimpsest init`: adds to a project what an agent needs to be compacted, and shows the change before it is written. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Paint } from "../../report/paint.ts";
import type { Done } from "../commands.ts";
import { CommandFailure, EXIT } from "../failure.ts";
import { diffLines } from "./diff-lines.ts";
import { addItem, addMember } from "./jsonc.ts";
import {
  declaredAgents,
  exportsClass,
  HOSTS,
  PLAIN_OBJECT,
  readProject,
  SDK_SESSIONS,
  sdkSessionsIn,
  SEND_VIEW,
  sendsEverything,
  WORKFLOW_BINDING,
  type Declared,
  type Project,
} from "./project.ts";
import { installLines } from "./versions.ts";

interface Change {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

export function initProject(folder: string, { yes, paint }: { readonly yes: boolean; readonly paint: Paint }): Done {
  const project = readProject(folder);
  const agents = declaredAgents(project);
  const others = agents.filter(({ isOurs }) => !isOurs);
  const agent =
    others.find(({ base }) => base === "Agent" || Object.hasOwn(HOSTS, base)) ??
    others.find(({ base }) => base === PLAIN_OBJECT);
  if (agent === undefined && !agents.some(({ isOurs }) => isOurs)) {
    throw new CommandFailure(
      EXIT.usage,
      `No class of a Durable Object in ${project.configPath} extends Agent, AIChatAgent, Think or DurableObject. Begin with README.md.`,
      "not_configured",
    );
  }
  const changes = [changeConfig(project), ...changeSources(project, agent)].filter(
    ({ before, after }) => before !== after,
  );
  const next = stepsAfter(project, agent);
  if (yes) for (const { path, after } of changes) writeFileSync(join(folder, path), after);
  const diff = changes.flatMap((change) => showChange(change, paint));
  const told =
    changes.length === 0
      ? "Everything is there already."
      : yes
        ? `Written: ${changes.map(({ path }) => path).join(", ")}.`
        : "Nothing was written. Run it again with --yes.";
  return {
    answer: { written: yes, changes: changes.map(({ path, after }) => ({ path, after })), next },
    lines: [...diff, told, ...next.map((step) => `Next: ${step}`)],
  };
}

/** The Workflow that summarises, the flag that the SDK needs, and a migration for a class that has none. */
function changeConfig({ config, configPath, configText, ...rest }: Project): Change {
  let after = configText;
  const { name = "agent", workflows = [], compatibility_flags = [], migrations = [] } = config;
  if (!workflows.some(({ binding }) => binding === WORKFLOW_BINDING)) {
    const workflow = { name: `${name}-compaction`, binding: WORKFLOW_BINDING, class_name: "CompactionWorkflow" };
    after = addItem(after, "workflows", workflow);
  }
  if (!compatibility_flags.includes("nodejs_compat")) after = addItem(after, "compatibility_flags", "nodejs_compat");
  const made = new Set(migrations.flatMap((each) => [...(each.new_sqlite_classes ?? []), ...(each.new_classes ?? [])]));
  const project = { config, configPath, configText, ...rest };
  const without = declaredAgents(project).filter((declared) => !made.has(declared.name));
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

/**
 * `class Chat extends AIChatAgent<Env> {` becomes a class with compaction, and with the one line that says when. A plain Durable Object becomes
 * an Agent.
 */
function declare(text: string, { name, base }: Declared): string {
  const from = HOSTS[base];
  const ours = base === PLAIN_OBJECT ? "Agent" : base;
  // Sessions of the SDK have a page of their own, and a member of the same name.
  const hasSessions = from === undefined && sdkSessionsIn(text) !== undefined;
  const head = new RegExp(
    `(\\bclass ${name}\\b[^{]*?\\bextends\\s+)${base}(\\s*<[^{]*>)?(\\s*(?:implements[^{]*)?\\{)(?=\\n([ \\t]*)|)`,
  );
  const line =
    from === undefined ? "session = Session.create(this).compactAfter();" : "override compaction = compactAfter();";
  const compacted = text.replace(head, (_whole, ...[before, types = "", open, indent = ""]: readonly string[]) => {
    const called = from === undefined ? `withCompaction(${ours}${types})` : `withCompaction(${ours})${types}`;
    return `${before}${called}${open}${hasSessions ? "" : `\n${indent === "" ? "  " : indent}${line}\n`}`;
  });
  const added = from === undefined ? "Session, " : "compactAfter, ";
  const names = `${hasSessions ? "" : added}withCompaction`;
  const imported = base === PLAIN_OBJECT ? addLine(compacted, 'import { Agent } from "agents";') : compacted;
  return addLine(imported, `import { ${names} } from "${from ?? "palimpsest"}";`);
}

/** Behind the last import, or at the top. */
function addLine(text: string, line: string): string {
  const imports = [...text.matchAll(/^import\b[^;]*?(?:from\s+)?["'][^"'\n]+["'];?[^\n]*\n/gm)];
  const last = imports.at(-1);
  const at = last === undefined ? 0 : last.index + last[0].length;
  return `${text.slice(0, at)}${line}\n${text.slice(at)}`;
}

/** What no program should change by itself. */
function stepsAfter(project: Project, agent: Declared | undefined): string[] {
  const { manifest, main } = project;
  const { dependencies = {}, devDependencies = {} } = manifest;
  const steps: string[] = [];
  if (dependencies["palimpsest"] === undefined && devDependencies["palimpsest"] === undefined) {
    steps.push(...installLines(project));
  }
  if (declaredAgents(project).some(sendsEverything)) steps.push(SEND_VIEW);
  if (agent?.base === PLAIN_OBJECT) {
    steps.push(
      `${agent.name} is an Agent now, a Durable Object as before: rename a fetch or alarm of its own to onRequest and to a method of this.schedule, and answer routeAgentRequest(request, env) in the Worker's fetch, so that npx palimpsest reaches it`,
    );
  }
  const sdk = sdkSessionsIn(agent?.file.text ?? "");
  if (sdk !== undefined && HOSTS[agent?.base ?? ""] === undefined) {
    steps.push(`the agent's messages are in ${sdk}: ${SDK_SESSIONS[sdk]} leads from there`);
  } else if (agent !== undefined && HOSTS[agent.base] === undefined) {
    steps.push("append each message with session.appendMessage, and send your model session.getView() (docs/chat.md)");
  }
  if (!/\bmodel\s*\(/.test(main.text))
    steps.push("give the Workflow a model, or its summaries only quote (docs/models.md)");
  return [...steps, "npx palimpsest doctor"];
}

function showChange({ path, before, after }: Change, paint: Paint): string[] {
  const lines = diffLines(before, after).map(({ kind, line }) =>
    kind === "added" ? paint(`+ ${line}`, "green") : kind === "removed" ? paint(`- ${line}`, "red") : `  ${line}`,
  );
  return [paint(path, "bold"), ...lines, ""];
}
