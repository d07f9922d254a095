/** Types of a client's calls and answers, by name. The compiler checks them with the SDK's own client. */
import { Agent } from "agents";
import { AgentClient } from "agents/client";
import { useAgent } from "agents/react";
import type { UIMessage } from "ai";
import { describe, expectTypeOf, test } from "vitest";
import type { AllRooms, CallInput, CallName, CallResult } from "../../src/rooms.ts";
import type { Clients, CompactionClient } from "../../src/agent/clients.ts";
import { withCompaction } from "../../src/agent/compacting-agent.ts";
import type { ClientOf } from "../../src/client.ts";
import { inspect } from "../../src/inspect/room.ts";
import { notes } from "../../src/notes/room.ts";

type Reader = CompactionClient<readonly ["watch", "read", "append"]>;

class Chat extends withCompaction(Agent) {
  static override readonly clients = ["watch", "read", "append"] as const;

  async say(text: string): Promise<number> {
    return text.length;
  }
}

class Plain extends Agent {
  async note(text: string): Promise<string> {
    return text;
  }
}
class Notebook extends withCompaction(Plain, { clients: "none" }) {}
class Roomy extends withCompaction(Plain, { rooms: [notes(), inspect()] }) {}
class Reading extends withCompaction(Plain, { rooms: [notes()], clients: ["watch", "getHistory", "getNotes"] }) {}
class Stricter extends Reading {
  static override readonly clients = ["status"] as const;
}

const message: UIMessage = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] };

/** Never called, because there is no Worker to connect to. */
const client = (): AgentClient<Reader> => new AgentClient<Reader>({ agent: "chat", name: "ada", host: "localhost" });

describe("the compiler knows", () => {
  test("what each call takes and answers", () => {
    expectTypeOf<CallInput<"append">>().toEqualTypeOf<{
      readonly sessionId?: string | undefined;
      readonly message: UIMessage;
      readonly parentId?: string | null | undefined;
    }>();
    expectTypeOf<CallResult<"append">["inserted"]>().toEqualTypeOf<boolean>();
    expectTypeOf<CallResult<"getHistory">>().toEqualTypeOf<UIMessage[]>();
    expectTypeOf<CallResult<"getParent">>().toEqualTypeOf<string | null>();
    expectTypeOf<CallInput<"deleteMessages">["ids"]>().toEqualTypeOf<readonly string[]>();
  });

  test("the calls that are open, and no other", () => {
    type Open<List extends Clients> = keyof CompactionClient<List, AllRooms>;
    expectTypeOf<keyof CompactionClient>().toEqualTypeOf<
      "cancelRun" | "compact" | "getRun" | "liveRuns" | "needsCompaction" | "runs" | "status"
    >();
    expectTypeOf<Open<"all">>().toEqualTypeOf<CallName>();
    expectTypeOf<Open<"none">>().toEqualTypeOf<never>();
    expectTypeOf<Open<readonly ["append", "override"]>>().toEqualTypeOf<"append">();
    expectTypeOf<keyof CompactionClient<typeof Chat.clients>>().toEqualTypeOf<keyof Reader>();
    expectTypeOf<Extract<keyof Reader, "append" | "getView" | "upsert" | "deleteSession">>().toEqualTypeOf<
      "append" | "getView"
    >();
  });

  test("from an agent's class alone, the calls that its declaration opens, its rooms' calls among them, beside its own methods", () => {
    type CallsOf<Client> = Extract<keyof Client, CallName | "note" | "palimpsest">;
    type Watch = keyof CompactionClient;
    expectTypeOf<CallsOf<ClientOf<Roomy>>>().toEqualTypeOf<Watch | "plan" | "note">();
    expectTypeOf<CallsOf<ClientOf<Reading>>>().toEqualTypeOf<Watch | "getHistory" | "getNotes" | "note">();
    expectTypeOf<CallsOf<ClientOf<Notebook>>>().toEqualTypeOf<"note">();
    expectTypeOf<CallsOf<ClientOf<Chat>>>().toEqualTypeOf<Watch>();
    expectTypeOf<CallsOf<ClientOf<Chat, typeof Chat.clients>>>().toEqualTypeOf<keyof Reader>();
    expectTypeOf<CallsOf<ClientOf<Stricter, typeof Stricter.clients>>>().toEqualTypeOf<"status" | "note">();
    expectTypeOf<ClientOf<Reading>["getNotes"]>().toEqualTypeOf<Reading["getNotes"]>();
    expectTypeOf(throughARoomyClient).toBeFunction();
  });

  test("the same through the SDK's client and beside an agent's own methods: what is closed, not there or wrong does not compile", () => {
    expectTypeOf(throughAClient).toBeFunction();
    expectTypeOf(useThroughReact).toBeFunction();
    expectTypeOf(throughAStub).toBeFunction();
    expectTypeOf(declareWrongly).toBeFunction();
  });
});

async function throughAClient(): Promise<void> {
  const { stub, call } = client();
  expectTypeOf(await stub.append({ message })).toEqualTypeOf<CallResult<"append">>();
  expectTypeOf(await stub.status()).toEqualTypeOf<CallResult<"status">>();
  expectTypeOf(await call("append", [{ message, parentId: null }])).toEqualTypeOf<CallResult<"append">>();
  // @ts-expect-error There is no such field.
  await stub.append({ nonsense: 1 });
  // @ts-expect-error There is no such field beside the message.
  await stub.append({ message, nonsense: 1 });
  // @ts-expect-error It needs a message.
  await stub.append();
  // @ts-expect-error A limit is a number.
  await stub.runs({ limit: "ten" });
  // @ts-expect-error It is not open.
  await stub.deleteSession({ sessionId: "" });
  // @ts-expect-error It is not open.
  await call("clearMessages", [{}]);
}

async function throughARoomyClient(agent: AgentClient<ClientOf<Reading>>): Promise<void> {
  expectTypeOf(await agent.call("getHistory", [{}])).toEqualTypeOf<CallResult<"getHistory">>();
  expectTypeOf(await agent.stub.getNotes()).toEqualTypeOf<CallResult<"getNotes">>();
  // @ts-expect-error A room brings it, and it is not open.
  await agent.call("updateNotes", [{ sections: [] }]);
}

async function useThroughReact(): Promise<void> {
  const { call, stub } = useAgent<ClientOf<Chat, typeof Chat.clients>, unknown>({ agent: "Chat" });
  expectTypeOf(await stub.say("hi")).toEqualTypeOf<number>();
  expectTypeOf(await call("append", [{ message }])).toEqualTypeOf<CallResult<"append">>();
  // @ts-expect-error There is no such field.
  await call("append", [{ nonsense: 1 }]);
  // @ts-expect-error It is not open.
  await stub.deleteSession({ sessionId: "" });
}

async function throughAStub(chat: Chat, notebook: Notebook): Promise<void> {
  expectTypeOf(await chat.say("hi")).toEqualTypeOf<number>();
  expectTypeOf(await chat.append({ message })).toEqualTypeOf<CallResult<"append">>();
  expectTypeOf(await notebook.note("x")).toEqualTypeOf<string>();
  expectTypeOf(await notebook.getView()).toEqualTypeOf<CallResult<"getView">>();
  // @ts-expect-error There is no such field.
  await notebook.append({ nonsense: 1 });
}

function declareWrongly(): unknown {
  // @ts-expect-error There is no such group.
  return withCompaction(Plain, { clients: ["reed"] });
}
