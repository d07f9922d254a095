/**
 * A host that keeps the messages of a session: the port through which it is heard and read.
 *
 * Boundary: types alone. An adapter fills them in for one host; the core imports none.
 */
import type { UIMessage } from "ai";

/** What a host did to its messages, told right behind its own write. */
export type SourceEvent =
  /** `parentId`: undefined is the newest message, null a root, as is an id that the session does not have. */
  | { readonly kind: "append"; readonly message: UIMessage; readonly parentId?: string | null | undefined }
  | { readonly kind: "update"; readonly message: UIMessage }
  /** The host stores the message in another form, such as a file as a link to it: what was said is the same. */
  | { readonly kind: "rewrite"; readonly message: UIMessage }
  /** `retention`: the host made room by its own rule, and nobody took these messages back. */
  | { readonly kind: "delete"; readonly ids: readonly string[]; readonly retention: boolean }
  | { readonly kind: "clear" }
  /** Something else: the path is to be read again. */
  | { readonly kind: "changed" };

export interface MessageSource {
  /** What the host is called in advice: "AIChatAgent". */
  readonly name: string;
  /** Calls the listener for each change, in their order, in the same turn of the event loop as the host's write. */
  subscribe(listener: (event: SourceEvent) => void): void;
  /** The newest message's id; null without messages. */
  leafId(): Promise<string | null>;
  /** The ids of the active path, oldest first, as far back as the host reads. */
  path(): Promise<readonly string[]>;
  get(id: string): Promise<UIMessage | null>;
  /** What the host has in memory now, oldest first: read without waiting. */
  live(): readonly UIMessage[];
  /** Whether the host deletes its oldest messages by a rule of its own. */
  prunes(): boolean;
}
