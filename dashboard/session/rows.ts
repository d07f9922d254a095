/**
 * The rows of a conversation, either as the model sees it or as it was written.
 *
 * It is pure. A view and the originals read under its overlays give the rows. The model's rows are the view itself. A person's rows show
 * the originals in place of each summary, as far as they were read.
 */
import type { UIMessage } from "ai";
import { parseSyntheticId } from "../../src/steps/view/view.ts";

export type Row =
  | { readonly kind: "message"; readonly key: string; readonly message: UIMessage; readonly under: string | null }
  | { readonly kind: "summary"; readonly key: string; readonly overlayId: string; readonly message: UIMessage }
  | { readonly kind: "layer"; readonly key: string; readonly overlayId: string }
  | { readonly kind: "unread"; readonly key: string; readonly overlayId: string; readonly read: number };

/** The originals that were read under an overlay, oldest first. */
export interface Beneath {
  readonly messages: readonly UIMessage[];
  readonly done: boolean;
}

export function modelRows(messages: readonly UIMessage[]): Row[] {
  return messages.map((message) => {
    const synthetic = parseSyntheticId(message.id);
    if (synthetic?.kind !== "overlay") return { kind: "message", key: message.id, message, under: null };
    return { kind: "summary", key: message.id, overlayId: synthetic.overlayId, message };
  });
}

export function personRows(messages: readonly UIMessage[], beneath: ReadonlyMap<string, Beneath>): Row[] {
  return modelRows(messages).flatMap<Row>((row) => {
    if (row.kind !== "summary") return [row];
    const { overlayId } = row;
    const found = beneath.get(overlayId) ?? { messages: [], done: false };
    const originals = found.messages.map((message): Row => ({
      kind: "message",
      key: `${overlayId}/${message.id}`,
      message,
      under: overlayId,
    }));
    const unread: Row = { kind: "unread", key: `${overlayId}/unread`, overlayId, read: found.messages.length };
    return [{ kind: "layer", key: `${overlayId}/layer`, overlayId }, ...originals, ...(found.done ? [] : [unread])];
  });
}

/** Returns the id of the stored message that a row shows, whole or in part. */
export function storedId(message: UIMessage): string {
  const synthetic = parseSyntheticId(message.id);
  return synthetic?.kind === "slice" ? synthetic.messageId : message.id;
}

/** True when a row shows a stored message or a part of it. */
export function isOf(row: Row, messageId: string): boolean {
  return row.kind === "message" && storedId(row.message) === messageId;
}
