/** The Worker under test. It is the deployed one with a scripted summariser, and Durable Objects that only tests need. */
import { DurableObject, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
import { Agent, routeAgentRequest } from "agents";
import { withCompaction } from "../src/agent/compacting-agent.ts";
import { costs } from "../src/costs/room.ts";
import { embeddings } from "../src/embeddings/search.ts";
import { recall } from "../src/recall/room.ts";
import { secretRules } from "../src/redact/secret-rules.ts";
import { ALL_ROOMS, allRooms, type AllRooms } from "../src/rooms.ts";
import { continuePrompt } from "../src/prompt-cache/continue.ts";
import { promptCache } from "../src/prompt-cache/remember.ts";
import { Session, type SessionOf } from "../src/agent/sessions/session.ts";
import type { AfterCompaction, OwnFunction, SessionSettings } from "../src/agent/settings.ts";
import { notes } from "../src/notes/room.ts";
import type { KeepNotesOptions } from "../src/notes/settings.ts";
import { ownFunction } from "../src/own-function/room.ts";
import type { OverlayRecord } from "../src/memory/overlays/overlay.ts";
import type { CommitResult } from "../src/memory/overlays/overlays.ts";
import type { Span } from "../src/steps/plan/outline.ts";
import type { Finished } from "../src/memory/runs/runs.ts";
import type { ModelRequest, SummaryModel } from "../src/model/chosen.ts";
import { CompactionWorkflow as RealCompactionWorkflow, type CompactionParams } from "../src/workflows/workflow.ts";
import type { DraftInput, PortMethod } from "../src/workflows/port.ts";
import { scriptedEmbed } from "./embeddings/scripted-embedder.ts";
import { cachingModel } from "./prompt-cache/caching-provider.ts";
import { isScripted, scriptedModel, windowOf } from "./scripted-model.ts";
import { checkRpc, checkSubrequests, strictState, strictStep, strictWorkflow } from "./strict.ts";
import { faultyCall, faultyStep } from "./workflows/faults/faulty-run.ts";

/** A bare Durable Object whose storage a test of src/memory borrows with `runInDurableObject`. */
export class StorageProbe extends DurableObject {}

/** For sessions whose id begins with `noted`. An update comes after some five messages, and a compaction keeps three. */
const NOTED = {
  growthTokens: 500,
  toolCalls: 0,
  maxTokens: 600,
  sectionTokens: 300,
  keep: { minTokens: 300, minTextBlockMessages: 2, maxTokens: 1_200 },
  asBlock: "notes",
} as const satisfies KeepNotesOptions;

/** Hooks of tests that run after a session's next compactions. */
export const hooks = ((globalThis as { palimpsestHooks?: Map<string, AfterCompaction> }).palimpsestHooks ??= new Map<
  string,
  AfterCompaction
>());
/** Notes settings that a test uses from now on, by agent and session. */
export const keptNotes = ((
  globalThis as { palimpsestKeptNotes?: Map<string, KeepNotesOptions> }
).palimpsestKeptNotes ??= new Map<string, KeepNotesOptions>());
type OwnFunctionSetting = NonNullable<SessionSettings["ownFunction"]>;
/** Compaction functions that a test uses from now on, by agent and session. */
export const ownFunctions = ((
  globalThis as { palimpsestOwnFunctions?: Map<string, OwnFunctionSetting> }
).palimpsestOwnFunctions ??= new Map<string, OwnFunctionSetting>());
const afterCompaction: AfterCompaction = (event) => hooks.get(event.sessionId)?.(event);

/** For one model alone, so that others have none. */
const PRICES = { priced: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } };

export class PalimpsestAgent extends withCompaction(Agent, { clients: "all", rooms: allRooms(PRICES) }) {
  /** On a platform as strict as production. */
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(strictState(ctx), { ...env, COMPACTION_WORKFLOW: strictWorkflow(env.COMPACTION_WORKFLOW) });
  }

  /**
   * Small numbers, so that a test's conversation is short. A session id that ends in `!n` has threshold n, one that begins with `wide` has
   * large chunks, `terse` in it small summaries, and `by m` chooses the model m.
   */
  override configureSession(session: SessionOf<AllRooms>): void {
    const threshold = Number(/!(\d+)$/.exec(session.id)?.[1] ?? 2_000);
    const chunkTokens = session.id.startsWith("wide") ? 8_000 : 1_500;
    // So that the messages of most tests are one chunk.
    const tail = Math.floor(threshold / 3);
    const model = /^by (.+)$/.exec(session.id)?.[1];
    const share = session.id.includes("terse") ? 1 / 15 : undefined;
    session.compactAfter(threshold, { chunkTokens, tail, model, share });
    const notes = keptNotes.get(`${this.name}/${session.id}`);
    if (notes !== undefined) session.keepNotes(notes);
    const own = ownFunctions.get(`${this.name}/${session.id}`);
    if (own !== undefined) session.onCompaction(own.compact, { timeoutMs: own.timeoutMs });
    if (this.name.startsWith("sim-")) session.withContext("todo", { carry: true });
    if (session.id.startsWith("noted")) {
      const waitMs = session.id.endsWith("impatient") ? 0 : 10_000;
      session
        .withContext("todo", { carry: true })
        .keepNotes({ ...NOTED, waitMs })
        .onAfterCompaction(afterCompaction);
    }
  }

  /** As deployed, unless a test planned a fault. */
  override async compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown> {
    const asksModel = method === "saveDraft" && (args[1] as DraftInput).cost !== null;
    checkSubrequests(runId, asksModel ? 2 : 1);
    const work = async (): Promise<unknown> => checkRpc(await super.compactionStep(runId, method, checkRpc(args)));
    return faultyCall({ agent: this, ctx: this.ctx }, { runId, method, args }, work);
  }

  /** Commits like a run that planned on the bare messages of a span. */
  async coverAs(input: { summary: string; span: Span; runId: string }): Promise<CommitResult> {
    return this.palimpsest.memory.session("").overlays.add({ ...input, overlayIds: [] });
  }

  /** Adds a summary of the caller's own, as an agent's own code may at any time. */
  async cover({ summary, fromId, toId }: { summary: string; fromId: string; toId: string }): Promise<OverlayRecord> {
    return Session.create(this).addCompaction(summary, fromId, toId);
  }
}

/** A user's class. Compaction is mixed in, and the class's own method stays. */
class Notebook extends Agent {
  async note(text: string): Promise<string> {
    return `noted: ${text}`;
  }
}

/** Sessions as an agent's own code declares them, each in another order, with or without a function of its own. */
export class BuiltAgent extends withCompaction(Notebook, { rooms: ALL_ROOMS }) {
  /** Replaced by a test. */
  summarise: OwnFunction = async () => null;
  readonly reported: { message: string; runId: string }[] = [];

  readonly nameFirst = Session.create(this).forSession("name-first").compactAfter(2_000);
  readonly nameLast = Session.create(this).compactAfter(3_000).forSession("name-last");
  readonly inlineFirst = Session.create(this)
    .onCompactionError((error, run) => void this.reported.push({ message: error.message, runId: run.id }))
    .onCompaction((messages, context) => this.summarise(messages, context))
    .forSession("inline")
    .compactAfter(2_000);
}

/** An agent whose Worker was deployed without its Workflow. */
export class UnboundAgent extends withCompaction(Agent, { rooms: [ownFunction()] }) {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    const { COMPACTION_WORKFLOW: _left, ...rest } = env;
    super(ctx, rest as Cloudflare.Env);
  }

  override configureSession(session: SessionOf<readonly [ReturnType<typeof ownFunction>]>): void {
    session.compactAfter(2_000);
    if (this.name === "own") session.onCompaction(async () => null);
  }
}

/**
 * An agent whose author set nothing about clients. The beginning of a session's id selects its setup, which is an approval, a budget that
 * one run uses up, notes, or a function of its own that fails.
 */
export class DefaultAgent extends withCompaction(Agent, { rooms: ALL_ROOMS }) {
  override configureSession(session: SessionOf<AllRooms>): void {
    const budget = session.id.startsWith("spent") ? { sessionTokens: 1 } : undefined;
    session.compactAfter(2_000, { chunkTokens: 1_500, budget }).withContext("memory");
    if (session.id.startsWith("told")) session.keepNotes(NOTED);
    if (session.id.startsWith("asked")) session.requireApproval();
    if (session.id.startsWith("own")) session.onCompaction(() => Promise.reject(new Error("quokka-own")));
  }
}

const scripted = embeddings({ model: "scripted", embed: scriptedEmbed, dayTokens: 1_000_000 });
const meaningRooms = [recall({ embeddings: scripted }), costs(), ownFunction()] as const;

/** An agent whose recall also goes by meaning. Its summaries are a function of its own, so that a compaction is over at once. */
export class MeaningAgent extends withCompaction(Agent, { rooms: meaningRooms }) {
  override configureSession(session: MeaningSession): void {
    if (session.id.startsWith("clean")) session.redactSecrets(secretRules());
    if (!session.id.startsWith("compacts")) return;
    session.compactAfter(2_000).onCompaction((messages) => ({
      fromMessageId: messages[0]?.id ?? "",
      toMessageId: messages.at(-5)?.id ?? "",
      summary: "Much was said about all kinds of things.",
    }));
  }
}

export type MeaningSession = SessionOf<typeof meaningRooms>;

const cachedRooms = [promptCache(), costs(), notes()] as const;

/**
 * An agent that remembers the prompts which it sends to a provider with a cache. A session `cheap` has prices of a cheap summariser, and
 * `noted` keeps notes.
 */
export class CachedAgent extends withCompaction(Agent, { clients: "all", rooms: cachedRooms }) {
  override configureSession(session: SessionOf<typeof cachedRooms>): void {
    const prices = session.id === "cheap" ? { input: 0.1, output: 0.5, cacheRead: 0.1, cacheWrite: 1.25 } : undefined;
    session.compactAfter(4_000, { chunkTokens: 8_000, prices });
    if (session.id === "redacted") session.redactSecrets(secretRules());
    if (session.id === "noted") session.keepNotes({ keep: { minTextBlockMessages: 1 } });
  }
}

/** An agent of the SDK alone. */
export class PlainAgent extends Agent {}

/** An agent without a policy. The session `broken` has a policy that cannot work. */
export class BareAgent extends withCompaction(Agent) {
  override configureSession(session: Session): void {
    if (session.id === "broken") session.compactAfter(Number.NaN);
  }
}

export class CompactionWorkflow extends RealCompactionWorkflow {
  protected override model(request: ModelRequest): SummaryModel {
    return modelOf(request);
  }

  override async run(event: WorkflowEvent<CompactionParams>, step: WorkflowStep): Promise<Finished> {
    return super.run(event, strictStep(faultyStep(event.payload.agent.name, step)));
  }
}

/** The agent's scripted model, and the others that a test gave a script, by role or by the name that a session chose. */
function modelOf({ agentName, runId, choice }: ModelRequest): SummaryModel {
  const other = (role: string, name: string): SummaryModel => ({
    model: scriptedModel(`${agentName}/${role}`, runId),
    name,
    windowTokens: 32_000,
  });
  if (agentName.startsWith("cached")) return modelBesideCache(agentName);
  if (choice === "nobody's") throw new Error("There is no such model.");
  if (choice !== null) return other(choice, choice);
  const first = { model: scriptedModel(agentName, runId), name: "scripted", windowTokens: windowOf(agentName) };
  return {
    ...first,
    ...(isScripted(`${agentName}/fallback`) && { fallback: other("fallback", "second") }),
    ...(isScripted(`${agentName}/chunks`) && { chunks: other("chunks", "small") }),
  };
}

/** `cached-plain` summarises with the agent's own model, `cached-own` may continue its prompts, and `cached-cheap` has another model too. */
function modelBesideCache(agentName: string): SummaryModel {
  const own = cachingModel(agentName, "own");
  const windowTokens = agentName.startsWith("cached-narrow") ? 4_500 : 32_000;
  const continues = continuePrompt(own, { windowTokens });
  if (agentName.startsWith("cached-plain")) return { model: own, windowTokens };
  const model = agentName.startsWith("cached-cheap") ? cachingModel(agentName, "cheap") : own;
  return { model, windowTokens: 32_000, continues };
}

export default {
  fetch: async (request, env) => (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
} satisfies ExportedHandler<Cloudflare.Env>;
