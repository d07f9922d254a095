/** Types of a client's calls and answers, by name. The compiler checks them with the SDK's own client. */
import { Agent } from "agents";
import { AgentClient } from "agents/client";
import type { UIMessage } from "ai";
import { describe, expectTypeOf, test } from "vitest";
import type { AllRooms, CallInput, CallName, CallResult } from "../../src/rooms.ts";
import type { Clients, CompactionClient } from "../../src/agent/clients.ts";
import { CompactingAgent, withCompaction } from "../../src/agent/compacting-agent.ts";

type Reader = CompactionClient<readonly ["watch", "read", "append"]>;

class Chat extends CompactingAgent {
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

  test("the same through the SDK's client and beside an agent's own methods: what is closed, not there or wrong does not compile", () => {
    expectTypeOf(throughAClient).toBeFunction();
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
