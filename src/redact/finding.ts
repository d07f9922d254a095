/** A secret in a text, from `start` up to but not including `end`. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}
