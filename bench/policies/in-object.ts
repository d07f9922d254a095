/** Policies whose conversations live in a Durable Object of the Worker under measurement. */
import type { UIMessage } from "ai";
import type { HostedName, Lab } from "../lab/lab.ts";
import type { HostedMethods } from "../objects/hosted/hosted.ts";
import type { Appended, Host, Policy, Spent } from "./host.ts";
import { keepTails, type Tail } from "./tail.ts";

let opened = 0;

export function policyIn(
  lab: Lab,
  { name, home, extra = "" }: { readonly name: string; readonly home: HostedName; readonly extra?: string },
): Policy {
  const tailOf = keepTails();
  return {
    name,
    open: async (terms) => {
      const settings = `summariser=${terms.summariser}&seed=${terms.seed}${extra}`;
      const object = lab.hosted(home, `conversation-${++opened}?${settings}`);
      await object.begin(terms);
      return new HostInObject(name, object, tailOf(terms));
    },
  };
}

class HostInObject implements Host {
  readonly name: string;
  readonly recall = async (question: string): Promise<string> => this.#object.lookUp(question);
  readonly #object: HostedMethods;
  readonly #tail: Tail;

  constructor(name: string, object: HostedMethods, tail: Tail) {
    this.name = name;
    this.#object = object;
    this.#tail = tail;
  }

  async append(message: UIMessage): Promise<Appended> {
    const appended = await this.#object.store(message, this.#tail.tokens);
    if (appended.compacted) this.#tail.steer(appended.tokens);
    return appended;
  }

  async view(): Promise<readonly UIMessage[]> {
    return this.#object.shown();
  }

  async spent(): Promise<Spent> {
    return this.#object.spent();
  }

  async close(): Promise<void> {}
}
