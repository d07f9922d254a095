/** A class as the SDK's addresses name it. A name that is in that form already stays as it is. */
export function classPath(name: string): string {
  const isLoud = name === name.toUpperCase() && name !== name.toLowerCase();
  const kebab = isLoud ? name.toLowerCase() : name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return kebab.replace(/^-/, "").replaceAll("_", "-").replace(/-$/, "");
}
