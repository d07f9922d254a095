/** `palimpsest doctor`: looks at a project's bindings, versions, model and limits, and says what to do. It starts nothing and sends nothing. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Paint, Style } from "../../report/paint.ts";
import type { Done } from "../commands.ts";
import { EXIT } from "../failure.ts";
import {
  declaredAgents,
  exportsClass,
  PAGES,
  readManifest,
  readProject,
  SDK_SESSIONS,
  sdkSessionsIn,
  SESSIONS_OF_0_20,
  WORKFLOW_BINDING,
  type Project,
} from "./project.ts";
import { omissionsOf } from "./omissions.ts";
import { installLines, satisfies } from "./versions.ts";

/** What was looked at. `wrong` keeps an agent from working, and `poor` from working well. */
interface Finding {
  readonly check: string;
  readonly state: "ok" | "poor" | "wrong";
  readonly found: string;
  /** What to do. Absent where it is ok. */
  readonly advice?: string;
}

const COLOUR: Readonly<Record<Finding["state"], Style>> = { ok: "green", poor: "yellow", wrong: "red" };

/** The oldest compatibility date that was tried. */
const LEAST_DATE = "2025-06-01";

export function examineProject(folder: string, paint: Paint): Done {
  const project = readProject(folder);
  const findings = [...examineVersions(project), ...examineBindings(project), ...examineSources(project)];
  const lines = findings.flatMap(({ check, state, found, advice }) => [
    `${paint(state.padEnd(5), COLOUR[state])} ${check}: ${found}`,
    ...(advice === undefined ? [] : [`      ${advice}`]),
  ]);
  const wrong = findings.filter(({ state }) => state === "wrong").length;
  const poor = findings.filter(({ state }) => state === "poor").length;
  const name = declaredAgents(project).find(({ isOurs }) => isOurs)?.name;
  const untried = `Only files were read. Whether the agent starts with its options says npx palimpsest --agent-class ${name} runs, while the Worker runs.`;
  const told = [`${wrong} wrong, ${poor} poor.`, ...(wrong > 0 ? [] : [untried])];
  return { answer: { findings }, lines: [...lines, ...told], exitCode: wrong > 0 ? EXIT.no : 0 };
}

function ok(check: string, found: string): Finding {
  return { check, state: "ok", found };
}

function* examineVersions(project: Project): Iterable<Finding> {
  const modules = join(project.folder, "node_modules");
  const ours = readManifest(join(modules, "palimpsest/package.json"));
  if (ours === null) {
    const advice = installLines(project).join(", then ");
    yield { check: "package", state: "wrong", found: "palimpsest is not installed here", advice };
    return;
  }
  yield ok("package", `palimpsest ${ours.version}`);
  for (const [name, range] of Object.entries(ours.peerDependencies ?? {})) {
    const version = readManifest(join(modules, name, "package.json"))?.version;
    const isOptional = ours.peerDependenciesMeta?.[name]?.optional === true;
    if (version === undefined) {
      if (!isOptional) {
        yield { check: name, state: "wrong", found: "not installed", advice: `npm install "${name}@${range}"` };
      }
    } else if (!satisfies(version, range)) {
      const lines = [`npm uninstall ${name}`, `npm install "${name}@${range}"`];
      const isHost = name === "agents" || name === "@cloudflare/ai-chat";
      const advice = `palimpsest takes ${range}: ${(isHost ? installLines(project) : lines).join(", then ")}`;
      yield { check: name, state: "wrong", found: version, advice };
    } else yield ok(name, version);
    if (existsSync(join(modules, "palimpsest/node_modules", name))) {
      const advice = `Two copies do not know each other's classes. npm ls ${name} shows who asks for which.`;
      yield { check: name, state: "wrong", found: "a second copy is installed for palimpsest", advice };
    }
  }
}

function* examineBindings(project: Project): Iterable<Finding> {
  const { config, configPath } = project;
  const agents = declaredAgents(project);
  const ours = agents.filter(({ isOurs }) => isOurs);
  if (ours.length === 0) {
    const advice = "npx palimpsest init adds what it takes.";
    yield { check: "agent", state: "wrong", found: `no bound class is declared withCompaction(…)`, advice };
  } else yield ok("agent", ours.map(({ name, base }) => `${name} (${base})`).join(", "));
  const sqlite = new Set((config.migrations ?? []).flatMap(({ new_sqlite_classes = [] }) => new_sqlite_classes));
  for (const { name } of ours.filter((each) => !sqlite.has(each.name))) {
    const advice = `Add it to new_sqlite_classes of a migration in ${configPath}.`;
    yield { check: name, state: "wrong", found: "no migration gives it SQLite", advice };
  }
  const workflow = (config.workflows ?? []).find(({ binding }) => binding === WORKFLOW_BINDING);
  if (workflow === undefined) {
    const example = `"workflows": [{ "name": "${config.name ?? "my-agent"}-compaction", "binding": "${WORKFLOW_BINDING}", "class_name": "CompactionWorkflow" }]`;
    yield {
      check: "workflow",
      state: "wrong",
      found: `${configPath} binds none as ${WORKFLOW_BINDING}`,
      advice: `Add ${example}.`,
    };
  } else if (!exportsClass(project, workflow.class_name ?? "")) {
    const advice = `Export it: export { ${workflow.class_name} } from "palimpsest".`;
    yield {
      check: "workflow",
      state: "wrong",
      found: `${project.main.path} exports no ${workflow.class_name}`,
      advice,
    };
  } else yield ok("workflow", `${workflow.name} as ${WORKFLOW_BINDING}`);
  const { compatibility_flags = [], compatibility_date = "" } = config;
  if (!compatibility_flags.includes("nodejs_compat")) {
    const advice = `Add it to compatibility_flags in ${configPath}: the Agents SDK imports node: modules.`;
    yield { check: "nodejs_compat", state: "wrong", found: "not set", advice };
  } else yield ok("nodejs_compat", "set");
  if (compatibility_date < LEAST_DATE) {
    const advice = `Set it to ${LEAST_DATE} or later. Earlier ones were not tried.`;
    yield { check: "compatibility_date", state: "poor", found: compatibility_date || "not set", advice };
  } else yield ok("compatibility_date", compatibility_date);
}

/** A first argument with which no agent starts. */
const NO_THRESHOLD = /\bcompactAfter\(\s*(?:-\s*[\d_]+|0(?![\d._])|"(?!auto")[^"\n]*"|'(?!auto')[^'\n]*')/;

function* examineSources(project: Project): Iterable<Finding> {
  const { sources, config } = project;
  const old = sources.filter(({ text }) => sdkSessionsIn(text) === SESSIONS_OF_0_20);
  for (const { path } of old) {
    const found = `it imports ${SESSIONS_OF_0_20}, which agents no longer has`;
    yield { check: path, state: "wrong", found, advice: `${SDK_SESSIONS[SESSIONS_OF_0_20]} leads from there.` };
  }
  // Sessions of agents 0.20 have a compactAfter of their own.
  const code = sources.flatMap((each) => (old.includes(each) ? [] : [each.text])).join("\n");
  if (!/\bcompactAfter\b/.test(code)) {
    const advice = "Say when to compact: session.compactAfter(), or compaction = compactAfter().";
    yield { check: "threshold", state: "wrong", found: "no source calls compactAfter", advice };
  } else if (/\bcompactAfter\(\s*\)/.test(code)) {
    const advice = 'Give the window of the conversation\'s model: compactAfter("auto", { windowTokens: 200_000 }).';
    yield { check: "threshold", state: "poor", found: "a window of 128000 tokens is assumed", advice };
  } else if (NO_THRESHOLD.test(code)) {
    const advice = 'Give a number of tokens, such as 60_000, or "auto".';
    yield { check: "threshold", state: "wrong", found: NO_THRESHOLD.exec(code)?.[0] ?? "", advice };
  } else yield ok("threshold", /\bcompactAfter\([^)]*\)?/.exec(code)?.[0].slice(0, 60) ?? "set");
  for (const agent of declaredAgents(project).filter(({ isOurs, base }) => isOurs || base === "AIChatAgent")) {
    for (const each of omissionsOf(agent, project)) yield { check: agent.name, state: "wrong", ...each };
  }
  const isChosen = /palimpsest\/(?:models|worker)["']/.test(code);
  const isOwn = /class\s+\w+\s+extends\s+\w*(?:Workflow|Base)\b[\s\S]*?\bmodel\s*\(/.test(code);
  const { PALIMPSEST_MODEL, PALIMPSEST_MODEL_URL } = config.vars ?? {};
  if (isOwn) yield ok("model", "the Workflow's own model()");
  else if (
    isChosen &&
    (config.ai !== undefined || PALIMPSEST_MODEL !== undefined || PALIMPSEST_MODEL_URL !== undefined)
  ) {
    yield ok("model", "by bindings and variables");
  } else {
    const advice = `Override model() of the Workflow: ${PAGES}/models.md.`;
    yield { check: "model", state: "poor", found: "none, so summaries only quote the conversation", advice };
  }
}
