/** Stands in for `just-bash`, which Think imports for scripts of skills. No test runs such a script. */
export function Bash(): never {
  throw new Error("Scripts of skills are not run here.");
}

export function defineCommand(): never {
  throw new Error("Scripts of skills are not run here.");
}
