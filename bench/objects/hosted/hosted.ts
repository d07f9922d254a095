/** A conversation in a Durable Object, as policies/in-object.ts calls it. */
import type { UIMessage } from "ai";
import type { Appended, Spent, Terms } from "../../policies/host.ts";

export interface HostedMethods {
  /** Called once, before anything else. */
  begin(terms: Terms): Promise<void>;
  /** `tailTokens` is the tail that a compaction begun by this append should keep. */
  store(message: UIMessage, tailTokens: number): Promise<Appended>;
  shown(): Promise<UIMessage[]>;
  lookUp(question: string): Promise<string>;
  spent(): Promise<Spent>;
}
