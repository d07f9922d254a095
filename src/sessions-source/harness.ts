/**
 * `palimpsest/harness`, durable compaction for ThinkHarness of the Agents SDK.
 *
 * The harness keeps the messages of all its sessions, and our index follows the feed of each. Before each model call the harness asks for
 * its messages, and gets the view. A whole turn is one stored message to the harness, so the view has what the turn brought so far.
 *
 * Safe because nothing is changed in the harness: a session of it is opened by its own public calls before anybody reads ours, and a view
 * that cannot be read leaves the messages that the harness would send.
 */
import { convertToModelMessages, type ToolSet, type UIMessage } from "ai";
import type { ThinkHarness, ThinkHarnessHooks, ThinkHarnessOptions, ThinkTurnContext } from "agents/harness/think";
import type { Session as SdkSession } from "agents/sessions";
import type { AgentCore } from "../agent/agent-core.ts";
import { HostedSession } from "./hosted-session.ts";
import { Session, type CompactionHost } from "../agent/sessions/session.ts";
import { PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { compactAndWait } from "./compact-and-wait.ts";
import { coreOf, mirrorOf, sessionsSource } from "./source.ts";
import { messageSteps } from "../steps/message/message.ts";
import { sayLostFiles } from "../steps/view/repair.ts";
import { saidBy } from "../steps/view/thoughts.ts";
import type { ConvertDataPart } from "../turn/data-parts.ts";
import { Prompts } from "../turn/prompts.ts";
import { warn } from "./turn.ts";

/** Options for ThinkHarness, to be spread behind its own. */
export type HarnessCompaction = Required<Pick<ThinkHarnessOptions, "configureSession" | "hooks">>;

export interface HarnessCompactionOptions {
  /** Your hooks. Messages that `beforeTurn` returns are sent as they are. */
  readonly hooks?: ThinkHarnessHooks | undefined;
  /** The harness's tools, where one has a `toModelOutput`. */
  readonly tools?: ThinkHarnessOptions["tools"];
  readonly configureSession?: ThinkHarnessOptions["configureSession"];
  /** The harness's model, so that a prompt has the forms that its provider takes. */
  readonly model?: ThinkHarnessOptions["model"] | undefined;
  /** What a model is sent of a part of type `data-…`, as `convertToModelMessages` takes it. Nothing by default. */
  readonly convertDataPart?: ConvertDataPart | undefined;
}

/**
 * Makes a harness whose sessions are compacted as `configureSession` of the agent says, in an agent made with `withCompaction`:
 * `harness = compactHarness(this, (compaction) => new ThinkHarness({ model, tools, ...compaction }))`. Throws `invalid_options`,
 * `not_configured`.
 */
export function compactHarness<Harness extends ThinkHarness>(
  agent: CompactionHost,
  make: (compaction: HarnessCompaction) => Harness,
  options: HarnessCompactionOptions = {},
): Harness {
  checkFields("compactHarness", options, {
    hooks: true,
    tools: true,
    configureSession: true,
    convertDataPart: true,
    model: true,
  });
  const core = coreOf(agent, "compactHarness(this, make)");
  if (core.hosted.open !== null || core.hosted.size > 0) {
    throw new PalimpsestError(
      "not_configured",
      "Something keeps this agent's messages already. Call compactHarness once, in an agent whose sessions are all of its harness.",
    );
  }
  return new HarnessSessions(core, options).opened(make);
}

class HarnessSessions {
  readonly #core: AgentCore;
  readonly #options: HarnessCompactionOptions;
  /** By session, the turn under way. */
  readonly #turns = new Map<string, { readonly operationId: string; readonly prompts: Prompts }>();

  constructor(core: AgentCore, options: HarnessCompactionOptions) {
    this.#core = core;
    this.#options = options;
  }

  opened<Harness extends ThinkHarness>(make: (compaction: HarnessCompaction) => Harness): Harness {
    const { hooks = {} } = this.#options;
    const harness = make({
      configureSession: (session, id) => this.#adopt(session, id),
      hooks: {
        ...hooks,
        beforeTurn: async (context) => this.#beforeTurn(context),
        onStepFinish: async (context) => {
          const step = messageSteps(context.message).at(-1) ?? [];
          this.#turns.get(context.session)?.prompts.made(step.flatMap((part) => contentOf(part)));
          await hooks.onStepFinish?.(context);
        },
      },
    });
    if (typeof (harness as Partial<ThinkHarness> | undefined)?.session !== "function") {
      throw new PalimpsestError(
        "invalid_options",
        "The second argument of compactHarness returns a ThinkHarness, as in (compaction) => new ThinkHarness({ model, ...compaction }).",
      );
    }
    const open = (sessionId: string): void => {
      // The harness makes its handle in the turn of the call. No message has this id, so that nothing is read.
      void harness
        .session(sessionId)
        .branches("")
        .catch(() => undefined);
      if (!Map.prototype.has.call(this.#core.hosted, sessionId)) {
        throw new PalimpsestError(
          "not_configured",
          "The harness's sessions cannot be reached. Spread what compactHarness gives behind your own options, as in new ThinkHarness({ model, ...compaction }), and call this.lifecycle.use(this.harness) in the constructor.",
        );
      }
    };
    this.#core.hosted.open = open;
    // The harness is installed by then, and nothing has called this agent yet.
    this.#core.platform.background(Promise.resolve().then(() => this.#core.hosted.get("")?.ready()));
    return harness;
  }

  /** Called in the turn in which the harness first uses a session. */
  #adopt(session: SdkSession, sessionId: string): void {
    const source = sessionsSource(mirrorOf(session), { name: "ThinkHarness", sessionId, live: () => [] });
    this.#core.hosted.set(sessionId, new HostedSession(this.#core, sessionId, source));
    this.#options.configureSession?.(session, sessionId);
    // Of a branch by its leaf, the harness reads what it converts, also outside of any hook, before it runs a tool.
    const getHistory = session.getHistory.bind(session);
    session.getHistory = async (read) => {
      const messages = await getHistory(read);
      return read?.leafId === undefined ? messages : sayLostFiles(messages as UIMessage[]);
    };
    // After a prompt that was too long, the harness compacts and asks again.
    session.compact = async (leafId) => compactAndWait(this.#ours(sessionId), leafId ?? undefined);
  }

  async #beforeTurn(context: ThinkTurnContext) {
    const { hooks, tools: ofHarness, convertDataPart } = this.#options;
    const config = await hooks?.beforeTurn?.(context);
    if (config?.messages !== undefined) return config;
    const tools = await given(ofHarness, context.session);
    const whole = [...context.messages];
    const { operationId } = context;
    const ours = this.#ours(context.session);
    const known = this.#turns.get(context.session);
    const turn =
      known?.operationId === operationId
        ? known
        : { operationId, prompts: new Prompts(ours, { ...(tools !== undefined && { tools }), convertDataPart }) };
    this.#turns.set(context.session, turn);
    const names = config?.activeTools ?? context.tools;
    const around = {
      instructions: config?.system ?? context.system,
      tools: Object.fromEntries(names.map((name) => [name, tools?.[name] ?? {}])),
    };
    try {
      const reminder = await ours.reminderOfRooms();
      // The harness has run every call by then.
      const { messages } = await turn.prompts.next({
        session: ours,
        leafId: leafOf(whole),
        reminder,
        step: { model: config?.model ?? (await given(this.#options.model, context.session)) },
        around,
      });
      return { ...config, messages };
    } catch (error) {
      warn(ours, error);
      return { ...config, messages: await inFull(whole, tools) };
    }
  }

  #ours(sessionId: string): Session {
    return Session.create({ palimpsest: this.#core }).forSession(sessionId);
  }
}

/** What a part of a stored step says, as the step itself said it. */
function contentOf(part: UIMessage["parts"][number]): StepContent {
  return saidBy("assistant", part).map(({ part: said }) => {
    const { providerOptions, ...rest } = said as { providerOptions?: unknown };
    return { ...rest, ...(providerOptions !== undefined && { providerMetadata: providerOptions }) };
  }) as StepContent;
}

type StepContent = NonNullable<Parameters<Prompts["made"]>[0]>;

function leafOf(messages: readonly UIMessage[]): string | undefined {
  return messages.at(-1)?.id;
}

/** As the harness converts them. */
function inFull(messages: UIMessage[], tools: ToolSet | undefined) {
  return convertToModelMessages(messages, { ...(tools !== undefined && { tools }), ignoreIncompleteToolCalls: true });
}

/** An option of the harness for one session. */
async function given<T extends object | string>(
  option: T | ((context: { session: string }) => T | Promise<T>) | undefined,
  session: string,
): Promise<T | undefined> {
  return typeof option === "function" ? option({ session }) : option;
}
