/** The answers of `recall`. */

/** An original that the text of an answer shows. */
export interface RecalledMessage {
  /** The message's id. */
  readonly id: string;
  /** As summaries name it. */
  readonly reference: string;
  /** The message's role. */
  readonly role: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** The overlay of the view that hides it. Null when the view shows it, or when it is on another branch. */
  readonly overlayId: string | null;
  /** True when the text holds only a part of it. */
  readonly clipped: boolean;
  /** True when it has none of the query's words, means something else, and stands beside a message that was found. */
  readonly beside: boolean;
}

/** Whether a search by meaning was a part of an answer. */
export type ByMeaning =
  /** `waiting` messages under the summaries have no vector yet, so only their words were searched. */
  | { readonly kind: "searched"; readonly waiting: number }
  /**
   * The answer was found by words alone. The embedding model did not answer, answered with something else than vectors, is left alone for
   * a while after it failed, or today's tokens are spent.
   */
  | { readonly kind: "failed"; readonly reason: "no-answer" | "bad-answer" | "paused" | "budget" };

export type Recall =
  /** `leftOut` is the number of further results that are not shown, because there is no room or one that is shown says the same. It is null when nobody counted them, as where notes go on. */
  | {
      readonly kind: "found";
      readonly text: string;
      readonly messages: readonly RecalledMessage[];
      readonly leftOut: number | null;
      /** Only where the room of recall has embeddings, and a query was asked. */
      readonly byMeaning?: ByMeaning;
    }
  | {
      readonly kind: "nothing";
      readonly reason: "no-match" | "unknown" | "nothing-hidden";
      readonly text: string;
      readonly byMeaning?: ByMeaning;
    };
