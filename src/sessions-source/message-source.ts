/**
 * The port to a host that keeps a session's messages. It reports changes and reads messages.
 *
 * Types alone. An adapter implements them for one host, and the core imports no adapter.
 */
import type { UIMessage } from "ai";

/** A change that a host made to its messages, reported right after its own write. */
export type SourceEvent =
  /** `parentId`: undefined means the newest message. Null means a root, and so does an id that the session does not have. */
  | { readonly kind: "append"; readonly message: UIMessage; readonly parentId?: string | null | undefined }
  | { readonly kind: "update"; readonly message: UIMessage }
  /** The host stores the message in another form, such as a file as a link to it. Its meaning is the same. */
  | { readonly kind: "rewrite"; readonly message: UIMessage }
  /**
   * `retention`: null, or a function that tells whether the host made room by its own rule, so that no user deleted these
   * messages. It is called with the number of messages that the path has left.
   */
  | { readonly kind: "delete"; readonly ids: readonly string[]; readonly retention: ((left: number) => boolean) | null }
  | { readonly kind: "clear" }
  /** Any other change. The path must be read again. */
  | { readonly kind: "changed" };

export interface MessageSource {
  /** The host's name for advice in errors, such as "AIChatAgent". */
  readonly name: string;
  /** Calls the listener for each change, in order, in the same turn of the event loop as the host's write. */
  subscribe(listener: (event: SourceEvent) => void): void;
  /** The newest message's id. Null without messages. */
  leafId(): Promise<string | null>;
  /** The ids of the active path, oldest first, as far back as the host reads. */
  path(): Promise<readonly string[]>;
  get(id: string): Promise<UIMessage | null>;
  /** The messages that the host has in memory now, oldest first. */
  live(): readonly UIMessage[];
  /** Whether the host deletes its oldest messages by a rule of its own. */
  prunes(): boolean;
}
