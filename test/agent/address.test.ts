/** A Workflow reaches its agent where the agent's name alone leads to another object: in a jurisdiction, and without a name. */
import { expect, test } from "vitest";
import { addressOf } from "../../src/agent/platform.ts";
import { openPort, type AgentLocation } from "../../src/workflows/agent-stub.ts";

type Id = DurableObjectId;

function idOf(text: string, name?: string, jurisdiction?: string): Id {
  return {
    toString: () => text,
    equals: (other: Id) => other.toString() === text,
    ...(name !== undefined && { name }),
    ...(jurisdiction !== undefined && { jurisdiction }),
  };
}

/** A namespace as production has it, where a jurisdiction gives each name another id. workerd has none. */
const { DurableObjectNamespace: Namespace } = {
  DurableObjectNamespace: class DurableObjectNamespace {
    readonly #className: string;
    readonly #jurisdiction: string | undefined;
    readonly reached: string[];

    constructor(className: string, jurisdiction?: string, reached: string[] = []) {
      this.#className = className;
      this.#jurisdiction = jurisdiction;
      this.reached = reached;
    }

    idFromName(name: string): Id {
      return idOf(`${this.#className} ${name} in ${this.#jurisdiction ?? "any"}`, name, this.#jurisdiction);
    }

    /** The namespace itself takes the ids of its jurisdictions, and no other namespace's. */
    idFromString(text: string): Id {
      if (!text.startsWith(`${this.#className} `)) throw new TypeError("Invalid Durable Object ID");
      return idOf(text);
    }

    jurisdiction(name: string) {
      return new Namespace(this.#className, name, this.reached);
    }

    get(id: Id) {
      const reach = async (): Promise<string> => {
        this.reached.push(id.toString());
        return "answer";
      };
      return { compactionStep: reach, _cf_invokeAgentPath: reach };
    }
  },
};

const named = (name: string, parents: readonly { className: string; name: string }[] = []) => ({
  name,
  parentPath: parents,
  selfPath: [...parents, { className: "Chat", name }],
});

const nameless = {
  get name(): string {
    throw new Error("This object has no name.");
  },
  parentPath: [],
  selfPath: [],
};

async function reach(
  namespaces: Record<string, InstanceType<typeof Namespace>>,
  address: AgentLocation,
): Promise<string> {
  await openPort(namespaces, address, "run").outline({ step: "s", attempt: 1 }, []);
  return namespaces[address.binding]?.reached.join() ?? "";
}

const bindings = () => ({ Other: new Namespace("Other"), Chat: new Namespace("Chat") });
const asEnv = (namespaces: object): Cloudflare.Env => namespaces as Cloudflare.Env;

test("an agent that its name leads to has its name as its address", async () => {
  const own = bindings();
  const ctx = { id: own.Chat.idFromName("ada") };
  const address = addressOf(named("ada"), { ctx, env: asEnv(own) });
  expect(address).toEqual({ binding: "Chat", name: "ada" });
  expect(await reach(own, address)).toBe("Chat ada in any");
});

test("an agent in a jurisdiction has its id as its address", async () => {
  const own = bindings();
  const ctx = { id: own.Chat.jurisdiction("eu").idFromName("ada") };
  const address = addressOf(named("ada"), { ctx, env: asEnv(own) });
  expect(address).toEqual({ binding: "Chat", name: "ada", id: "Chat ada in eu" });
  expect(await reach(own, address)).toBe("Chat ada in eu");
});

test("an agent without a name has its id as its address", async () => {
  const own = bindings();
  const address = addressOf(nameless, { ctx: { id: idOf("Chat 0123") }, env: asEnv(own) });
  expect(address).toEqual({ binding: "Chat", name: "Chat 0123", id: "Chat 0123" });
  expect(await reach(own, address)).toBe("Chat 0123");
});

test("a sub-agent in a jurisdiction is reached through the root that is there", async () => {
  const own = bindings();
  const ctx = { id: own.Chat.jurisdiction("eu").idFromName("child") };
  const agent = named("child", [{ className: "Chat", name: "root" }]);
  const address = addressOf(agent, { ctx, env: asEnv(own) });
  expect(address).toMatchObject({ binding: "Chat", name: "root", jurisdiction: "eu", path: agent.selfPath });
  expect(await reach(own, address)).toBe("Chat root in eu");
});

test("an agent whose class is not bound says so", () => {
  const ctx = { id: idOf("Unbound ada") };
  expect(() => addressOf(named("ada"), { ctx, env: asEnv(bindings()) })).toThrow(/not_configured.*bind its class/);
});
