/** Finds the messages that each bullet of a summary comes from. */
import type { History } from "../memory/messages/history.ts";
import { splitReferences, type BulletSource } from "../steps/draft/provenance.ts";
import { hashOf } from "../steps/message/message.ts";

/**
 * The source messages of each bullet of an overlay's summary, by line from 0. Lines without a reference are left out.
 * References count only if they lead to messages under the overlay. Reads a row for each. Throws `unknown_overlay`.
 */
export function findProvenance({ overlays, tree }: History, overlayId: string): BulletSource[] {
  const { fromSeq, toSeq, summary } = overlays.laid.mustGetRow(overlayId);
  return summary.split("\n").flatMap((text, line) => {
    const hashes = splitReferences(text).references.flatMap((reference) => hashOf(reference) ?? []);
    const found = hashes.flatMap((hash) => tree.findByHash(hash));
    const messageIds = found.flatMap(({ seq, id }) => (seq >= fromSeq && seq <= toSeq ? [id] : []));
    return messageIds.length === 0 ? [] : [{ line, messageIds }];
  });
}
