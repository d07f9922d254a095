/**
 * Refuses to publish without `repository`. npm reads it to turn README's links and pictures, which are relative, into addresses, and without
 * it they lead nowhere on the package's page.
 */
import { readFileSync } from "node:fs";

const { repository } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly repository?: unknown };
if (repository === undefined) {
  process.stderr.write(
    "Set `repository` in package.json first. npm makes the addresses of README's links and pictures from it.\n",
  );
  process.exit(1);
}
