/** The result of checking one fact on one store. `none` means that the store lacks the feature. */
export type Verdict =
  | { readonly kind: "holds" }
  | { readonly kind: "fails"; readonly why: string }
  | { readonly kind: "none"; readonly why: string };
