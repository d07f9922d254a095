/** Code fences in notes. Tests where one ends, and that no open fence swallows the text after it. */
import { describe, expect, test } from "vitest";
import { cutSection } from "../../../src/steps/draft/audit.ts";
import { arrangeSections, resolveNotesShape } from "../../../src/notes/steps/document.ts";
import { auditEdits, parseEdits, splitSections } from "../../../src/notes/steps/edits.ts";
import { findOpenFence } from "../../../src/steps/text/text.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const shape = resolveNotesShape({}, 60_000);
const empty = arrangeSections(shape, []);

describe("a code fence", () => {
  test("ends with as many of its own sign, alone on a line, and with nothing else", () => {
    expect(findOpenFence("````md\n```\n## Worklog\n```\n````")).toBeNull();
    expect(findOpenFence("````md\n```\n```")).toBe("````");
    expect(findOpenFence("```\n~~~\n``` js\n")).toBe("```");
    expect(findOpenFence("``` a`b\ntext")).toBeNull();
    expect(splitSections("## Task\n````md\n```\n## Worklog\n````")).toHaveLength(2);
  });

  test("that an answer leaves open is refused: the sections behind it would be in it", () => {
    const answer = "## Task\n```sh\nnpm test\n\n## Worklog\n- done";
    expect(parseEdits(answer, empty).problems).toMatchObject([{ kind: "bad-shape" }]);
    expect(auditEdits({ countTokens: estimateTokens, answer, finishReason: "stop", before: empty, shape }).ok).toBe(
      false,
    );
  });

  test("around all of an answer is taken off, whatever is fenced in it", () => {
    const answer = "````md\n## Task\n```sh\nnpm test\n```\n````";
    expect(parseEdits(answer, empty).edits).toEqual([{ title: "Task", text: "```sh\nnpm test\n```" }]);
    const two = "## Task\n```\na\n```\n\n## Worklog\n```\nb\n```";
    expect(parseEdits(two, empty).edits).toHaveLength(2);
  });

  test("that a cut goes through is closed", () => {
    const text = `\`\`\`sh\n${"npm test\n".repeat(100)}\`\`\``;
    const cut = cutSection(text, 60, { pointer: "[cut]", countTokens: estimateTokens });
    expect(cut).toMatch(/npm test\n```\n\[cut\]$/);
    expect(findOpenFence(cut)).toBeNull();
  });
});
