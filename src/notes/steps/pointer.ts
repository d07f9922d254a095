/**
 * Pointers from a cut section of the notes to its full text: the line at the cut, and the versions that such lines
 * name.
 *
 * A model follows the line by calling `recall`. A version is kept as long as a shown text names it.
 */

/** The beginning of every pointer. */
export const POINTER = "recall({ notes: ";

/** `from` is the character at which the text continues. */
export function pointTo(n: number, { section, from }: { readonly section?: string; readonly from?: number }): string {
  const fields = [
    `${n}`,
    ...(section === undefined ? [] : [`section: ${JSON.stringify(section)}`]),
    ...(from === undefined ? [] : [`from: ${from}`]),
  ];
  return `${POINTER}${fields.join(", ")} })`;
}

/** The versions named in a text, or in JSON that contains one. */
export function pointedVersions(text: string): number[] {
  return [...text.matchAll(/recall\(\{ notes: (\d{1,9})\b/g)].map(([, n]) => Number(n));
}
