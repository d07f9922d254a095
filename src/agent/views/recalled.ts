/** The answers of `recall`. */

export interface RecalledMessage {
  readonly id: string;
  /** As summaries name it. */
  readonly reference: string;
  readonly role: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** The overlay of the view that hides it. Null when the view shows it, or when it is on another branch. */
  readonly overlayId: string | null;
  /** True when the text holds only a part of it. */
  readonly clipped: boolean;
  /** True when it has none of the query's words and stands beside a message that has. */
  readonly beside: boolean;
}

export type Recall =
  /** `leftOut` is the number of further results without room. It is null when nobody counted them, as where notes go on. */
  | {
      readonly kind: "found";
      readonly text: string;
      readonly messages: readonly RecalledMessage[];
      readonly leftOut: number | null;
    }
  | { readonly kind: "nothing"; readonly reason: "no-match" | "unknown" | "nothing-hidden"; readonly text: string };
