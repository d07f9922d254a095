/** Pages of the package lead to each other, so that a reader of the tarball alone reaches everything. */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize, resolve } from "node:path";
import { expect, test } from "vitest";

const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly files: readonly string[] };
/** What is packed, without what the build makes. */
const PACKED = new Set(globSync(files.filter((each) => !each.startsWith("dist/"))));
const PAGES = [...PACKED].filter((path) => path.endsWith(".md"));

function isThere(path: string): boolean {
  return PACKED.has(path) || [...PACKED].some((each) => each.startsWith(`${path}/`));
}

/** As GitHub names a heading. */
function anchorOf(heading: string): string {
  const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
  return text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
}

function anchorsOf(page: string): string[] {
  const prose = readFileSync(page, "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  const seen = new Map<string, number>();
  return [...prose.matchAll(/^#{1,6} +(.+?)\s*$/gm)].map(([, heading = ""]) => {
    const anchor = anchorOf(heading);
    const again = seen.get(anchor) ?? 0;
    seen.set(anchor, again + 1);
    return again === 0 ? anchor : `${anchor}-${again}`;
  });
}

/** The targets of a page's links and pictures, without those in code. */
function linksOf(page: string): string[] {
  const prose = readFileSync(page, "utf8")
    .replaceAll(/^ *```[\s\S]*?^ *```/gm, "")
    .replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)[^)]*\)|(?:src|href)="([^"]+)"/g)].map(
    ([, link, html]) => link ?? html ?? "",
  );
}

test("nothing is published while npm could not make addresses of README's links", () => {
  const folder = mkdtempSync(join(tmpdir(), "publishable-"));
  const script = resolve("scripts/package/publishable.ts");
  const check = (manifest: object) => {
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    return spawnSync(process.execPath, [script], { cwd: folder, encoding: "utf8" });
  };
  expect(check({ repository: "github:someone/palimpsest" })).toMatchObject({ status: 0, stderr: "" });
  expect(check({})).toMatchObject({ status: 1, stderr: expect.stringContaining("Set `repository`") });
  rmSync(folder, { recursive: true });
});

test("every link and picture of a packed page leads to a packed file, and to a heading that is there", () => {
  const broken = PAGES.flatMap((page) =>
    linksOf(page)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [path = "", anchor] = link.split("#");
        const target = path === "" ? page : normalize(join(dirname(page), path));
        if (!isThere(target)) return true;
        return anchor !== undefined && !anchorsOf(target).includes(anchor);
      })
      .map((link) => `${page}: ${link}`),
  );
  expect(broken).toEqual([]);
  expect(PAGES.length).toBeGreaterThan(20);
});

test("the sources of every example are packed, and nothing that an example made", () => {
  const kept = execFileSync("git", ["ls-files", "examples"], { encoding: "utf8" }).trim().split("\n");
  const packed = [...PACKED].filter((path) => path.startsWith("examples/"));
  expect(kept.filter((path) => !PACKED.has(path))).toEqual([]);
  expect(
    packed.filter((path) => !kept.includes(path) && !/worker-configuration\.d\.ts$|package-lock\.json$/.test(path)),
  ).toEqual([]);
});
