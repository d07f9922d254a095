/** A conversation in a Durable Object, as policies/in-object.ts calls it. */
import type { UIMessage } from "ai";
import type { Appended, Spent, Terms } from "../../policies/host.ts";

export interface HostedMethods {
  /** Before anything else, once. */
  begin(terms: Terms): Promise<void>;
  /** `tailTokens`: what a compaction that this append begins should keep of the end. */
  store(message: UIMessage, tailTokens: number): Promise<Appended>;
  shown(): Promise<UIMessage[]>;
  lookUp(question: string): Promise<string>;
  spent(): Promise<Spent>;
}
