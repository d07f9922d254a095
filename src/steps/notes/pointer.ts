/**
 * Where a section of the notes that was cut can be read whole: the line that stands at the cut, and the versions that such lines
 * in a text name. A model does as the line says (`recall`), and a version stays as long as something that is shown names it.
 */

/** What every pointer begins with. */
export const POINTER = "recall({ notes: ";

/** `from`: the character that the text goes on at. */
export function pointTo(n: number, { section, from }: { readonly section?: string; readonly from?: number }): string {
  const fields = [
    `${n}`,
    ...(section === undefined ? [] : [`section: ${JSON.stringify(section)}`]),
    ...(from === undefined ? [] : [`from: ${from}`]),
  ];
  return `${POINTER}${fields.join(", ")} })`;
}

/** Of a text, or of JSON that holds one. */
export function pointedVersions(text: string): number[] {
  return [...text.matchAll(/recall\(\{ notes: (\d{1,9})\b/g)].map(([, n]) => Number(n));
}
