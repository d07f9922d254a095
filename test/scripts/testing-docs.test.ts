import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const read = (file: string): string => readFileSync(resolve(import.meta.dirname, "../..", file), "utf8");

test.each(["test/worker.ts", "vitest.config.ts", "test/chat.test.ts"])(
  "docs/testing.md shows the example's %s, letter by letter",
  (file) => {
    expect(read("docs/testing.md")).toContain(read(`examples/minimal/${file}`).trimEnd());
  },
);
