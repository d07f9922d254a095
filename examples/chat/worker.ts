import { Agent, callable, routeAgentRequest } from "agents";
import { isStepCount, streamText, type LanguageModel } from "ai";
import { isContextOverflow, SessionManager, type ModelUsage, withCompaction, type SessionOf } from "palimpsest";
import { chooseModel, type ModelEnv } from "palimpsest/models";
import { context, R2SkillProvider, sqliteSearch } from "palimpsest/context";
import { recall } from "palimpsest/recall";
import { keepTurn } from "palimpsest/turn";
import { logbookTools } from "./logbook.ts";
import { offlineModel } from "./offline-model.ts";
import { SHELF, stockShelf } from "./skills.ts";

export { CompactionWorkflow } from "palimpsest/models";

interface Env extends Cloudflare.Env, ModelEnv {
  readonly SKILLS: R2Bucket;
}

interface Reply {
  readonly id: string;
  readonly text: string;
  /** The id of the session that holds the reply. It changes when the conversation is split, and the earlier id still leads there. */
  readonly sessionId: string;
}

const PERSONA = "You are the clerk of a lighthouse's archive. Answer from its logbook, and say which page you read.";

const ROOMS = [context(), recall()] as const;

type Session = SessionOf<typeof ROOMS>;

/** The calls that a client may make beside the methods below. None of them adds a message, so only the agent's own methods do. */
export const CLIENTS = ["watch", "read", "renameSession"] as const;

export class ChatAgent extends withCompaction(Agent<Env>, { clients: CLIENTS, rooms: ROOMS }) {
  /** One agent belongs to one user. Each conversation is a session of it, under an id that the client chooses. */
  sessions = SessionManager.create(this)
    .withContext("persona", { provider: { get: async () => PERSONA } })
    .withContext("memory", {
      description: "What the user wants you to remember",
      maxTokens: 500,
      whenChanged: "remind",
      shared: true,
    })
    .withContext("cards", {
      description: "The archive's card index, a topic a card",
      provider: sqliteSearch,
      shared: true,
    })
    .withContext("skills", { provider: new R2SkillProvider(this.env.SKILLS, { prefix: SHELF }) })
    .withCachedPrompt()
    .compactAfter(10_000);

  readonly #lastTurns = new Map<string, Promise<unknown>>();

  /** The agent also answers while the bucket is down. The prompt then says that the skills cannot be read. */
  override async onStart(): Promise<void> {
    await stockShelf(this.env.SKILLS).catch((error: unknown) => console.warn("The shelf was not stocked.", error));
  }

  @callable()
  chat(text: string, sessionId = ""): Promise<Reply> {
    return this.#inTurn(sessionId, async (session) => {
      const id = crypto.randomUUID();
      await session.appendMessage({ id, role: "user", parts: [{ type: "text", text }] });
      return this.#reply(session, id);
    });
  }

  /** Another answer to the same question, by either's id, as a branch beside the first. The conversation goes on from it. */
  @callable()
  regenerate(messageId: string, sessionId = ""): Promise<Reply> {
    return this.#inTurn(sessionId, async (session) => {
      const message = await session.getMessage(messageId);
      const questionId = message?.role === "user" ? messageId : await session.getParent(messageId);
      if (questionId === null) throw new Error(`Message "${messageId}" answers nothing.`);
      return this.#reply(session, questionId);
    });
  }

  /** The prompt as the blocks are now. Until then it stays the same string, so that the provider's cache of it holds. */
  @callable()
  refreshPrompt(sessionId = ""): Promise<string> {
    return this.#session(sessionId).refreshSystemPrompt();
  }

  @callable()
  usage(sessionId = ""): Promise<ModelUsage[]> {
    return this.#session(sessionId).getUsage();
  }

  /** For curl. POST takes what the user says, and GET lists the conversations by their titles. */
  override async onRequest(request: Request): Promise<Response> {
    const sessionId = new URL(request.url).searchParams.get("session") ?? "";
    if (request.method === "POST") return page((await this.chat(await request.text(), sessionId)).text);
    return page(
      this.sessions
        .list()
        .map(({ id, name }) => `?session=${encodeURIComponent(id)} ${name ?? ""}`)
        .join("\n"),
    );
  }

  /** Stores an empty reply first. It holds the place on its branch, and the turn's steps fill it. */
  async #reply(session: Session, parentId: string): Promise<Reply> {
    const id = crypto.randomUUID();
    await session.newest().appendMessage({ id, role: "assistant", parts: [] }, parentId);
    try {
      return await this.#turn(session.newest(), id);
    } catch (error) {
      if (!isContextOverflow(error)) throw error;
      const { run } = await session.newest().compactNow({ reason: "overflow", leafId: id });
      await session.ended(run.id);
      return this.#turn(session.newest(), id);
    }
  }

  async #turn(session: Session, replyId: string): Promise<Reply> {
    const tools = { ...(await session.tools()), ...this.sessions.tools(), ...logbookTools };
    const turn = keepTurn(session, { replyId, tools });
    let failure: unknown = null;
    const { textStream } = streamText({
      model: this.model(session),
      instructions: await session.freezeSystemPrompt(),
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
    turn.mustBeKept(); // the last step as well
    return { id: replyId, text, sessionId: turn.session().id };
  }

  /** One turn of a conversation after the other. A message that comes while the model is at work waits for the end of that turn. */
  #inTurn<T>(sessionId: string, work: (session: Session) => Promise<T>): Promise<T> {
    const before = this.#lastTurns.get(sessionId) ?? Promise.resolve();
    const turn = before.then(() => work(this.#session(sessionId)));
    this.#lastTurns.set(
      sessionId,
      turn.catch(() => undefined),
    );
    return turn;
  }

  /** The session in which a conversation goes on. A client may keep the id that it began with, however often it was split. */
  #session(sessionId: string): Session {
    return this.sessions.getSession(sessionId).newest();
  }

  protected model(session: Session): LanguageModel {
    if (this.env.AI !== undefined || this.env.PALIMPSEST_MODEL_URL) return chooseModel(this.env).model;
    return offlineModel({ think: () => runsEnd(session) });
  }
}

/** A real model takes longer than a summary. So offline each call waits for the compactions that are under way. */
async function runsEnd(session: Session): Promise<void> {
  const { liveRunIds } = await session.newest().status();
  await Promise.all(liveRunIds.map((id) => session.ended(id)));
}

function page(text: string): Response {
  return new Response(`${text}\n`);
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
