import { callable, routeAgentRequest } from "agents";
import { isStepCount, streamText, type LanguageModel } from "ai";
import {
  chooseModel,
  CompactingAgent,
  CompactionWorkflow,
  isContextOverflow,
  keepTurn,
  Session,
  type ModelEnv,
  type ModelUsage,
} from "palimpsest";
import { logbookTools } from "./logbook.ts";
import { offlineModel } from "./offline-model.ts";

export { CompactionWorkflow };

interface Env extends Cloudflare.Env, ModelEnv {}

interface Reply {
  readonly id: string;
  readonly text: string;
}

const PERSONA = "You are the clerk of a lighthouse's archive. Answer from its logbook, and say which page you read.";

export class ChatAgent extends CompactingAgent<Env> {
  session = Session.create(this)
    .withContext("persona", { provider: { get: async () => PERSONA } })
    .withContext("memory", {
      description: "What the user wants you to remember",
      maxTokens: 500,
      whenChanged: "remind",
    })
    .withCachedPrompt()
    .compactAfter(10_000);

  #lastTurn: Promise<unknown> = Promise.resolve();

  @callable()
  chat(text: string): Promise<Reply> {
    return this.#inTurn(async () => {
      const id = crypto.randomUUID();
      await this.session.appendMessage({ id, role: "user", parts: [{ type: "text", text }] });
      return this.#reply(id);
    });
  }

  /** Another answer to the same question, as a branch beside the first. The conversation goes on from the new one. */
  @callable()
  regenerate(messageId: string): Promise<Reply> {
    return this.#inTurn(async () => {
      const { elements } = await this.session.getView(messageId);
      const question = elements.at(-2);
      if (question === undefined) throw new Error(`Nothing comes before message "${messageId}".`);
      return this.#reply(question.kind === "overlay" ? question.span.toId : question.id);
    });
  }

  /** The prompt as the blocks are now. Until then it stays the same string, so that the provider's cache of it holds. */
  @callable()
  refreshPrompt(): Promise<string> {
    return this.session.refreshSystemPrompt();
  }

  @callable()
  usage(): Promise<ModelUsage[]> {
    return this.session.getUsage();
  }

  /** Curl talks to it as well: the body is what the user says. */
  override async onRequest(request: Request): Promise<Response> {
    if (request.method !== "POST") return new Response("POST what you want to say.\n", { status: 405 });
    return new Response(`${(await this.chat(await request.text())).text}\n`);
  }

  /** Stores an empty reply first: it holds the place on its branch that the turn's steps fill. */
  async #reply(parentId: string): Promise<Reply> {
    const id = crypto.randomUUID();
    await this.session.appendMessage({ id, role: "assistant", parts: [] }, parentId);
    try {
      return { id, text: await this.#turn(id) };
    } catch (error) {
      if (!isContextOverflow(error)) throw error;
      const { run } = await this.session.compactNow({ reason: "overflow", leafId: id });
      await this.session.ended(run.id);
      return { id, text: await this.#turn(id) };
    }
  }

  async #turn(replyId: string): Promise<string> {
    const tools = { ...(await this.session.tools()), ...logbookTools };
    const turn = keepTurn(this.session, { replyId, tools });
    let failure: unknown = null;
    const { textStream } = streamText({
      model: this.#model(),
      instructions: await this.session.freezeSystemPrompt(),
      tools,
      stopWhen: isStepCount(50),
      ...(await turn.prepareStep()), // the first messages
      ...turn, // from then on: the view as it is before each step, and every step stored as it ends
      onError: ({ error }) => void (failure ??= error),
    });
    let text = "";
    for await (const delta of textStream) {
      text += delta;
      this.broadcast(JSON.stringify({ type: "chat:text", replyId, delta }));
    }
    if (failure !== null) throw failure;
    return text;
  }

  /** One turn after the other: what is said while the model is at work waits for its answer. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  #model(): LanguageModel {
    if (this.env.AI !== undefined || this.env.PALIMPSEST_MODEL_URL) return chooseModel(this.env).model;
    return offlineModel({ think: () => this.#runsEnd() });
  }

  /** A real model takes longer than a summary: offline, a call takes as long as the compactions that are under way. */
  async #runsEnd(): Promise<void> {
    const { liveRunIds } = await this.session.status();
    await Promise.all(liveRunIds.map((id) => this.session.ended(id)));
  }
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
