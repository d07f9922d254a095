/** What a recall answers. */

export interface RecalledMessage {
  readonly id: string;
  /** As summaries name it. */
  readonly reference: string;
  readonly role: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** The overlay of the view that hides it; null when the view shows it or is of another branch. */
  readonly overlayId: string | null;
  /** True when only a part of it is in the text. */
  readonly clipped: boolean;
  /** True when it has none of the words that were asked for, and stands beside one that has. */
  readonly beside: boolean;
}

export type Recall =
  /** `leftOut`: how many more were found and had no room; null when nobody counted them, as where notes go on. */
  | {
      readonly kind: "found";
      readonly text: string;
      readonly messages: readonly RecalledMessage[];
      readonly leftOut: number | null;
    }
  | { readonly kind: "nothing"; readonly reason: "no-match" | "unknown" | "nothing-hidden"; readonly text: string };
