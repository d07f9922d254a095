/** Loaded texts as a model receives them, and as they stay stored. */
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { hideUnloadedSkills, skillName, skillsNotCarried } from "../../../src/context/tools.ts";
import { NOTHING_PINNED } from "../../../src/facts/fact.ts";
import { NOT_DONE } from "../../../src/facts/loaded.ts";
import { summaryMessage } from "../../../src/facts/render.ts";

function loading(id: string, key: string, output: string): UIMessage {
  const call = {
    type: "tool-load_context",
    toolCallId: id,
    state: "output-available",
    input: { label: "skills", key },
    output,
  };
  return { id, role: "assistant", parts: [{ type: "step-start" }, call as UIMessage["parts"][number]] };
}

function outputs(messages: readonly UIMessage[]): unknown[] {
  return messages.flatMap(({ parts }) => parts.flatMap((part) => ("output" in part ? [part.output] : [])));
}

const SKILLS = new Map([
  [skillName("skills", "pdf"), true],
  [skillName("skills", "sql"), false],
]);

describe("loaded texts in what a model is sent", () => {
  test("stay while they are loaded, and give way to a short note once unloaded", () => {
    const messages = [loading("1", "pdf", "PDF TEXT"), loading("2", "sql", "SQL TEXT")];
    expect(outputs(hideUnloadedSkills(messages, SKILLS))).toEqual([
      "PDF TEXT",
      expect.stringContaining("was unloaded"),
    ]);
  });

  test("are shown once, where they were loaded last", () => {
    const messages = [loading("1", "pdf", "OLD"), loading("2", "pdf", "OLD"), loading("3", "pdf", "NEW")];
    const note = expect.stringContaining("loaded again below");
    expect(outputs(hideUnloadedSkills(messages, SKILLS))).toEqual([note, note, "NEW"]);
    const together = [{ ...messages[0]!, parts: messages.flatMap(({ parts }) => parts) }];
    expect(outputs(hideUnloadedSkills(together, SKILLS))).toEqual([note, note, "NEW"]);
  });

  test("come from dynamic tools too; answers that brought no text, other tools and open calls are left alone", () => {
    const dynamic = loading("1", "sql", "SQL TEXT");
    dynamic.parts = [
      { ...dynamic.parts[1], type: "dynamic-tool", toolName: "load_context" } as UIMessage["parts"][number],
    ];
    expect(outputs(hideUnloadedSkills([dynamic], SKILLS))).toEqual([expect.stringContaining("was unloaded")]);
    const failed = loading("2", "sql", `${NOT_DONE}There is none.`);
    const other = loading("3", "sql", "rows");
    other.parts = [{ ...other.parts[1], type: "tool-query" } as UIMessage["parts"][number]];
    const open = loading("4", "sql", "");
    open.parts = [{ type: "tool-load_context", toolCallId: "4", state: "input-available", input: undefined }];
    const kept = [failed, other, open];
    expect(hideUnloadedSkills(kept, SKILLS)).toEqual(kept);
  });

  test("are hidden only when they are known to have been unloaded: an import's, and a tool's of the same name, stay", () => {
    const messages = [loading("1", "csv", "OF AN IMPORT"), loading("2", "csv", "OF AN IMPORT")];
    expect(hideUnloadedSkills(messages, SKILLS)).toEqual(messages);
    expect(hideUnloadedSkills(messages, new Map())).toEqual(messages);
  });

  test("are shown once where a summary carries them behind an older reading; a text that only says so hides nothing", () => {
    const documents = ["skills:pdf"];
    const loaded = { kind: "context", name: "skills:pdf", text: "NEW", characters: 3, messageId: "2" } as const;
    const pinned = { ...NOTHING_PINNED, loaded: [loaded] };
    const summary = summaryMessage({ overlayId: "1", summary: "", pinned });
    const note = expect.stringContaining("loaded again below");
    expect(outputs(hideUnloadedSkills([loading("1", "pdf", "OLD"), summary], SKILLS))).toEqual([note]);
    const forged: UIMessage = { ...summary, id: "said", metadata: { palimpsest: { kind: "overlay", documents } } };
    expect(outputs(hideUnloadedSkills([loading("1", "pdf", "OLD"), forged], SKILLS))).toEqual(["OLD"]);
  });

  test("come from an assistant's finished calls alone: a message of a user, or a preliminary text, hides nothing", () => {
    const real = loading("1", "pdf", "REAL");
    const forged: UIMessage = { ...loading("2", "pdf", "FORGED"), role: "user" };
    const half = loading("3", "pdf", "HALF");
    Object.assign(half.parts[1] as object, { preliminary: true });
    for (const later of [forged, half]) {
      expect(outputs(hideUnloadedSkills([real, later], SKILLS))[0]).toBe("REAL");
      expect(skillsNotCarried([later], SKILLS).has("skills:pdf")).toBe(false);
    }
  });

  test("are not hidden by a skill of the same name that another tool loaded", () => {
    const loaded = { kind: "skill", name: "skills:pdf", text: "EVIL", characters: 4, messageId: "2" } as const;
    const summary = summaryMessage({ overlayId: "1", summary: "", pinned: { ...NOTHING_PINNED, loaded: [loaded] } });
    expect(outputs(hideUnloadedSkills([loading("1", "pdf", "REAL"), summary], SKILLS))).toEqual(["REAL"]);
  });

  test("are not carried by a summary once they are unloaded or loaded again behind it", () => {
    expect(skillsNotCarried([], SKILLS)).toEqual(new Set(["skills:sql"]));
    const behind = [loading("1", "pdf", "PDF TEXT"), loading("2", "csv", "OF AN IMPORT")];
    expect(skillsNotCarried(behind, SKILLS)).toEqual(new Set(["skills:sql", "skills:pdf"]));
    expect(skillsNotCarried([loading("1", "pdf", `${NOT_DONE}There is none.`)], SKILLS).has("skills:pdf")).toBe(false);
    expect(skillsNotCarried(behind, new Map())).toEqual(new Set());
  });

  test("M1: are left out of a copy; the messages themselves are not touched", () => {
    const messages = [loading("1", "sql", "SQL TEXT"), loading("2", "pdf", "PDF TEXT")];
    const before = structuredClone(messages);
    const shown = hideUnloadedSkills(messages, SKILLS);
    expect(messages).toEqual(before);
    expect(shown[1]).toBe(messages[1]);
  });
});
