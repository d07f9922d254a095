/**
 * Finds identifiers and quotations of an answer that stand nowhere in what the model was shown.
 *
 * Texts in, a list out. It looks at what a model cannot know without having read it: paths, addresses, ids, versions, long numbers, and
 * quoted sentences. Words, small numbers and sums are not judged.
 */

/** Quoted pieces, which must be copies where they have a few words. Code is one too. */
const QUOTED =
  /`([^`\n]{4,200})`|(?<=^|[\s(])"([^"\n]{12,300})"(?=$|[\s).,;:!?\]])|“([^”\n]{12,300})”|「([^」\n]{8,200})」/gm;
/** Pieces of a text that may name something. A script without blanks names with words, which are not judged. */
const PIECE =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d_@$#][\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d_@$#./:\\+~%&=?-]*[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d_]/gu;
/** A path or an address, an id with letters and digits, a version, a long number. */
const NAMES = [
  /^[^/]*[\p{L}\p{N}_.~-]+(?:\/[\p{L}\p{N}_.@~-]+){2,}$/u,
  /^[\w.-]+@[\w-]+(?:\.[\w-]+)+$/,
  /^(?=.*\d)(?=.*\p{L})[\p{L}\p{N}_-]{7,}$/u,
  /^[#$]?\d{5,}$/,
  /^v?\d+\.\d+\.\d+[\w.-]*$/,
  /^[\p{L}\p{N}_-]+\.(?:[cm]?[jt]sx?|json|md|py|rs|go|java|rb|sql|ya?ml|toml|sh|css|html?|csv|txt|pdf)$/u,
];
/** Our own references, and the numbers of messages. */
const REFERENCE = /\[[^\]\n]{0,4}(?:@[0-9a-z]{7}|#\d{1,9})[^\]\n]*\]/g;
/** A number with the marks that separate its digits. */
const NUMBER = /\d(?:[.,' ]?\d)*/g;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?$/;
/** A unit or an ending behind a number is the writer's. */
const COUNTED = /^\d[\d.,]*\p{L}{1,6}$/u;
/** More are not listed. */
const MOST = 12;

/** What of `answer` stands nowhere in `shown`, in order, each once. */
export function findUnfounded(answer: string, shown: string): string[] {
  const text = answer.replaceAll(REFERENCE, "");
  const known = flatten(shown);
  const numbers = new Set((shown.match(NUMBER) ?? []).map((number) => number.replaceAll(/\D/g, "")));
  const found = new Set<string>();
  const isCopied = (piece: string): boolean => known.includes(flatten(piece));
  const isKnown = (piece: string): boolean => {
    const flat = flatten(piece);
    if (known.includes(flat)) return true;
    // A number may be written with other separators.
    if (/^[#$]?[\d.,' ]+$/.test(piece)) return numbers.has(piece.replaceAll(/\D/g, ""));
    // A range or a joined name is made of names that stand there, and a path may be told by its parts.
    const parts = flat
      .split(/[^\p{L}\p{N}_]+/u)
      .filter((part) => /\d/.test(part) || (piece.includes("/") && part !== ""));
    return isJoined(flat) && parts.length > 0 && parts.every((part) => known.includes(part));
  };
  for (const [, ...pieces] of text.matchAll(QUOTED)) {
    const piece = pieces.find((each) => each !== undefined) ?? "";
    const parts = piece.split(/\s*(?:\[?…\]?|\.{3})\s*/).filter((each) => each.trim() !== "");
    const isCode = pieces[0] !== undefined;
    const isCopy = isCode ? NAMES.some((name) => name.test(piece)) : piece.trim().split(/\s+/).length > 3;
    if (isCopy && !parts.every(isCode ? isKnown : isCopied)) found.add(piece);
  }
  for (const [piece] of text.matchAll(PIECE)) {
    const bare = piece.replace(/[.:?]+$/, "");
    if (DATE.test(bare) || COUNTED.test(bare) || !NAMES.some((name) => name.test(bare)) || isKnown(bare)) continue;
    found.add(bare);
  }
  return [...found].slice(0, MOST);
}

/** Whether a name has a mark between its parts. */
function isJoined(name: string): boolean {
  return /[\p{L}\p{N}][^\p{L}\p{N}_]+[\p{L}\p{N}]/u.test(name);
}

/** Texts are compared without case, marks and links of Markdown, escapes of JSON and the width of blanks. */
function flatten(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/\[([^\][]{0,200})\]\([^)\s]{0,500}\)/g, "$1")
    .replaceAll(/\\[nrt]/g, " ")
    .replaceAll(/[\\*_`"'“”‘’]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
