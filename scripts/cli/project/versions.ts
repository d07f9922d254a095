/** Versions as npm compares them, for the forms that peer dependencies of this package have: `^1.2.3`, `>=1.2.0 <2`, joined by `||`. */

import { join } from "node:path";
import { readManifest, type Project } from "./project.ts";

type Version = readonly [number, number, number];

/** Hosts whose oldest version is a later one than many projects have. npm does not replace them in place, because each asks for the other. */
const HOSTS = { agents: "0.24.0", "@cloudflare/ai-chat": "0.12.0" } as const;

type Packages = Pick<Project, "folder" | "manifest">;

function versionOf({ folder, manifest }: Packages, name: string): string | undefined {
  const installed = readManifest(join(folder, "node_modules", name, "package.json"))?.version;
  return installed ?? manifest.dependencies?.[name] ?? manifest.devDependencies?.[name];
}

/** Whether a project has the AI SDK 6. */
export function isSixth(project: Packages): boolean {
  return parse(versionOf(project, "ai") ?? "")[0] === 6;
}

/** The commands that install the package beside what a project has, as docs/ai-chat.md has them. */
export function installLines(project: Packages): string[] {
  const has = (name: string): string | undefined => versionOf(project, name);
  const hosts = Object.entries(HOSTS).filter(([name]) => has(name) !== undefined);
  if (hosts.every(([name, least]) => compare(parse(has(name) ?? ""), parse(least)) >= 0)) {
    return [
      `npm install ${["palimpsest", ...["agents", "ai", "zod"].filter((name) => has(name) === undefined)].join(" ")}`,
    ];
  }
  // The newest agents takes no provider of the AI SDK 6.
  const sixth = isSixth(project);
  const names = hosts.map(([name, least]) => (sixth ? `${name}@${least}` : name));
  // It came along with the older @cloudflare/ai-chat. Each version asks for one version of the AI SDK, so that goes along with it.
  const react = hosts.length > 1 ? (sixth ? ["ai@6", "@ai-sdk/react@3"] : ["@ai-sdk/react"]) : [];
  return [
    `npm uninstall ${hosts.map(([name]) => name).join(" ")}`,
    ["npm install", ...(sixth ? ["--save-exact"] : []), "palimpsest", ...names, ...react].join(" "),
  ];
}

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
