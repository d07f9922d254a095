/** Versions as npm compares them, for the forms that peer dependencies of this package have: `^1.2.3`, `>=1.2.0 <2`, joined by `||`. */

type Version = readonly [number, number, number];

function parse(text: string): Version {
  const [major = 0, minor = 0, patch = 0] = (/\d+(?:\.\d+)*/.exec(text)?.[0] ?? "0").split(".").map(Number);
  return [major, minor, patch];
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** The first version that `^` no longer takes. */
function nextOf([major, minor, patch]: Version): Version {
  if (major > 0) return [major + 1, 0, 0];
  return minor > 0 ? [0, minor + 1, 0] : [0, 0, patch + 1];
}

export function satisfies(version: string, range: string): boolean {
  const given = parse(version);
  const holds = (term: string): boolean => {
    const least = parse(term);
    if (term.startsWith("^")) return compare(given, least) >= 0 && compare(given, nextOf(least)) < 0;
    if (term.startsWith(">=")) return compare(given, least) >= 0;
    if (term.startsWith("<")) return compare(given, least) < 0;
    return compare(given, least) === 0;
  };
  return range.split("||").some((part) => part.trim().split(/\s+/).every(holds));
}
