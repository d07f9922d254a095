/** What came of checking one fact on one store. `none`: the store has no way to do what the fact is about. */
export type Verdict =
  | { readonly kind: "holds" }
  | { readonly kind: "fails"; readonly why: string }
  | { readonly kind: "none"; readonly why: string };
