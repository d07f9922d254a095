/**
 * The interface of optional rooms. It holds the additions of a room to an agent that was declared with it, and the calls that the room
 * receives.
 *
 * The core imports no room. `withCompaction(Base, { rooms: [context(), events()] })` adds two. Their methods stand on each session and their
 * calls in the table of calls. A Worker without rooms has none of their code.
 */
import type { ToolSet, UIMessage } from "ai";
import type { z } from "zod";
import { missingRoom } from "./missing-room.ts";
import type { SentPrompt } from "../model/chosen.ts";
import type {
  ApprovalRoom,
  Core,
  FollowUpRoom,
  FunctionRoom,
  RoomHooks,
  ShownText,
  SummariserCall,
  SummaryRoom,
  Told,
} from "./core.ts";
import type { UsageDollars, UsageReport } from "./reports/usage-report.ts";
import type { SessionState } from "./sessions/session-state.ts";

/**
 * Calls that clients may get together. `watch` asks for compactions and follows them, without a word of the conversation. `read` reads the
 * whole conversation. `write` adds messages, in any role. `steer` decides how summaries are made and which hold. `admin` deletes, and
 * changes what the model is told beside the conversation.
 */
export type Group = "watch" | "read" | "write" | "steer" | "admin";

/** One call of a table, as far as a declaration knows it. See calls.ts. */
export interface CallEntry {
  readonly group: Group;
  readonly input: z.ZodObject;
  run(context: never, input: never): unknown;
}

export type CallTable = Readonly<Record<string, CallEntry>>;

// The access of a room to a manager of all sessions.
export interface ManagerState {
  readonly core: Core;
  /** @internal */
  readonly tell: (told: Told) => void;
}

/** The methods that an installed room adds. */
export interface Added<SessionMethods extends object, ManagerMethods extends object> {
  /** An object whose methods each session's handle has. */
  readonly session: (state: SessionState) => SessionMethods;
  /** An object whose methods each manager of sessions has. */
  readonly manager?: (state: ManagerState) => ManagerMethods;
}

/** An installed room of one agent. Each of its hooks runs inside the transaction of its event. */
export interface Installed<SessionMethods extends object, ManagerMethods extends object> extends Added<
  SessionMethods,
  ManagerMethods
> {
  /** The messages of a session were deleted. */
  readonly cleared?: (sessionId: string) => void;
  /** A session was deleted. The core deletes its rows, and the room forgets what it keeps in memory. */
  readonly deleted?: (sessionId: string) => void;
  /** A session was made as a copy of another. */
  readonly copied?: (fromId: string, toId: string) => void;
  /**
   * A session goes on in another, where each message stands for messages here up to the one of this number. Without it {@link copied}
   * is called.
   */
  readonly continued?: (fromId: string, toId: string, stoodFor: readonly number[]) => void;
  /** Set by the room that makes summaries without a model. */
  readonly summaries?: SummaryRoom;
  /** Set by the room whose own code makes summaries. */
  readonly functions?: FunctionRoom;
  /** Set by the room in which a person approves summaries. */
  readonly approvals?: ApprovalRoom;
  /** Set by the room that has steps for a run after its commit. */
  readonly followUps?: FollowUpRoom;
  /** A model call was counted, once: the report of one of the agent's own, or a summariser's that is on the bill. */
  readonly counted?: (sessionId: string, call: UsageReport | SummariserCall) => void;
  /** The prompt that the agent last sent to a model, `provider:model`, in a session. Null where none is known to be cached. */
  readonly sent?: (sessionId: string, model: string) => SentPrompt | null;
  /** What the counted calls of a session cost, by model. Models without a price are missing. */
  readonly dollars?: (sessionId: string) => ReadonlyMap<string, UsageDollars>;
  /** Removes messages from a view that the room does not want shown. */
  readonly shown?: (sessionId: string, messages: UIMessage[]) => UIMessage[];
  /** Names loaded texts that a summary does not show beside itself. `behind` are the messages of the view after it. */
  readonly leavesOut?: (sessionId: string, behind: readonly UIMessage[]) => ReadonlySet<string>;
  /** Tools for a model. `newest` names the session in which the conversation goes on. */
  readonly tools?: (sessionId: string, newest: () => string) => ToolSet;
  /** The end of a turn's prompt, which is not stored. Null for nothing. */
  readonly reminder?: (sessionId: string) => Promise<string | null>;
  /** Searches the messages of all the agent's sessions. Returns text for a model, or null for nothing. */
  readonly searchAll?: (query: string) => Promise<string | null>;
  /** The text of a block that summaries carry along. Null for a label that the room does not know. */
  readonly carriedText?: (sessionId: string, label: string) => Promise<string | null>;
  /** Always shows a text to the model, under a label. */
  readonly declareText?: (sessionId: string, label: string, text: ShownText) => void;
}

/** An optional room, as an agent is declared with it. */
export interface Extension<
  SessionMethods extends object = object,
  ManagerMethods extends object = object,
  Table extends CallTable = CallTable,
> {
  readonly name: string;
  readonly calls: Table;
  /** Returns an {@link Installed}. Its hooks, all optional, are no part of the package's declarations. */
  readonly install: (core: Core) => Added<SessionMethods, ManagerMethods>;
}

export type Rooms = readonly Extension[];

type Both<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The additions of a list of rooms to a session, to a manager of sessions, and to the table of calls. */
export type SessionMethodsOf<R extends Rooms> = Both<
  R[number] extends infer Each ? (Each extends Extension<infer Added> ? Added : never) : never
>;
export type ManagerMethodsOf<R extends Rooms> = Both<
  R[number] extends infer Each ? (Each extends Extension<object, infer Added> ? Added : never) : never
>;
export type CallsOf<R extends Rooms> = Both<
  R[number] extends infer Each ? (Each extends Extension<object, object, infer Table> ? Table : never) : never
>;

/** The installed rooms of one agent. */
export class InstalledRooms implements RoomHooks {
  readonly #rooms: readonly Installed<object, object>[];

  readonly summaries: SummaryRoom | null;
  readonly functions: FunctionRoom | null;
  readonly approvals: ApprovalRoom | null;
  readonly followUps: FollowUpRoom | null;

  constructor(core: Core, rooms: Rooms) {
    this.#rooms = rooms.map((room) => room.install(core));
    this.summaries = this.#rooms.find(({ summaries }) => summaries !== undefined)?.summaries ?? null;
    this.functions = this.#rooms.find(({ functions }) => functions !== undefined)?.functions ?? null;
    this.approvals = this.#rooms.find(({ approvals }) => approvals !== undefined)?.approvals ?? null;
    this.followUps = this.#rooms.find(({ followUps }) => followUps !== undefined)?.followUps ?? null;
  }

  sessionParts(state: SessionState): object[] {
    return this.#rooms.map((room) => room.session(state));
  }

  managerParts(state: ManagerState): object[] {
    return this.#rooms.flatMap((room) => room.manager?.(state) ?? []);
  }

  cleared(sessionId: string): void {
    for (const room of this.#rooms) room.cleared?.(sessionId);
  }

  deleted(sessionId: string): void {
    for (const room of this.#rooms) room.deleted?.(sessionId);
  }

  copied(fromId: string, toId: string): void {
    for (const room of this.#rooms) room.copied?.(fromId, toId);
  }

  continued(fromId: string, toId: string, stoodFor: readonly number[]): void {
    for (const room of this.#rooms) {
      if (room.continued === undefined) room.copied?.(fromId, toId);
      else room.continued(fromId, toId, stoodFor);
    }
  }

  counted(sessionId: string, call: UsageReport | SummariserCall): void {
    for (const room of this.#rooms) room.counted?.(sessionId, call);
  }

  sent(sessionId: string, model: string): SentPrompt | null {
    return this.#rooms.find(({ sent }) => sent !== undefined)?.sent?.(sessionId, model) ?? null;
  }

  dollars(sessionId: string): ReadonlyMap<string, UsageDollars> {
    return this.#rooms.find(({ dollars }) => dollars !== undefined)?.dollars?.(sessionId) ?? new Map();
  }

  shown(sessionId: string, messages: UIMessage[]): UIMessage[] {
    return this.#rooms.reduce((left, room) => room.shown?.(sessionId, left) ?? left, messages);
  }

  leavesOut(sessionId: string, behind: readonly UIMessage[]): ReadonlySet<string> {
    return new Set(this.#rooms.flatMap((room) => [...(room.leavesOut?.(sessionId, behind) ?? [])]));
  }

  tools(sessionId: string, newest: () => string): ToolSet {
    return Object.assign({}, ...this.#rooms.map((room) => room.tools?.(sessionId, newest))) as ToolSet;
  }

  async reminder(sessionId: string): Promise<string | null> {
    const said = await Promise.all(this.#rooms.map(async (room) => room.reminder?.(sessionId) ?? null));
    const texts = said.filter((each) => each !== null);
    return texts.length === 0 ? null : texts.join("\n\n");
  }

  async carriedText(sessionId: string, label: string): Promise<string | null> {
    for (const room of this.#rooms) {
      const text = await room.carriedText?.(sessionId, label);
      if (text !== undefined && text !== null) return text;
    }
    return null;
  }

  /** The search over all sessions. Throws `not_configured` where no room searches. */
  searchAll(): (query: string) => Promise<string | null> {
    const room = this.#rooms.find(({ searchAll }) => searchAll !== undefined);
    if (room?.searchAll !== undefined) return room.searchAll;
    throw missingRoom("A search of what was said", "recall");
  }

  /** Throws `not_configured` where no room shows texts. */
  declareText(sessionId: string, label: string, text: ShownText): void {
    const room = this.#rooms.find(({ declareText }) => declareText !== undefined);
    if (room?.declareText !== undefined) return room.declareText(sessionId, label, text);
    throw missingRoom(`Block "${label}"`, "context");
  }
}
