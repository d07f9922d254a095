/** Skills in an R2 bucket, and which of them are loaded. */
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { R2SkillProvider, WritableR2SkillProvider } from "../../../src/context/r2-skills.ts";
import { codeOf, dump, withContexts } from "./probe.ts";

const bucket = env.SKILLS;

async function put(key: string, text: string, description?: string): Promise<void> {
  await bucket.put(key, text, description === undefined ? {} : { customMetadata: { description } });
}

const down = () => Promise.reject(new Error("R2: internal error (10001)"));

beforeEach(async () => {
  const { objects } = await bucket.list();
  await bucket.delete(objects.map(({ key }) => key));
});

describe("skills in R2", () => {
  test("are listed by key with their description: a folder with a SKILL.md is one skill, and nothing beyond the prefix", async () => {
    await put("skills/pdf/SKILL.md", "How to read PDFs", "Reads\nPDF files");
    await put("skills/pdf/tables.md", "Tables");
    await put("skills/pdf/A.md", "Sorts before SKILL.md");
    await put("skills/style", "Write plainly", "House style");
    await put("skills/notes/today.md", "No description");
    await put("skills/empty-folder/", "");
    await put("other/secret", "Not a skill of ours");
    const skills = new R2SkillProvider(bucket, { prefix: "skills/" });
    expect(await skills.get()).toBe("- notes/today.md\n- pdf: Reads PDF files\n- style: House style");
    expect(await skills.load("pdf")).toBe("How to read PDFs");
    expect(await skills.load("pdf/tables.md")).toBe("Tables");
    expect(await skills.load("style")).toBe("Write plainly");
    expect(await skills.load("../other/secret")).toBeNull();
    expect(await skills.load("nothing")).toBeNull();
    expect(await new R2SkillProvider(bucket, { prefix: "none/" }).get()).toBeNull();
  });

  test("may be narrowed to some keys: no other is listed, loaded or written, whatever a model asks for", async () => {
    for (const key of ["pdf/SKILL.md", "pdf/tables.md", "style", "secret"])
      await put(`skills/${key}`, `text of ${key}`);
    const skills = new WritableR2SkillProvider(bucket, { prefix: "skills/", keys: ["pdf", "style"] });
    expect(await skills.get()).toBe("- pdf\n- style");
    expect(await skills.load("pdf")).toBe("text of pdf/SKILL.md");
    expect(await skills.load("pdf/tables.md")).toBe("text of pdf/tables.md");
    expect(await skills.load("secret")).toBeNull();
    await withContexts(async ({ blocks }) => {
      blocks.withContext("skills", { provider: skills });
      expect(await codeOf(blocks.setContextEntry("skills", { key: "secret", content: "x" }))).toBe("unknown_skill");
      await blocks.setContextEntry("skills", { key: "style", content: "new" });
    });
    expect([await skills.load("style"), await (await bucket.get("skills/secret"))?.text()]).toEqual([
      "new",
      "text of secret",
    ]);
    expect(await new R2SkillProvider(bucket, { prefix: "skills/", keys: [] }).get()).toBeNull();
  });

  test("are all listed when they take more than one page", async () => {
    const page = await bucket.list();
    const names = Array.from({ length: 1_002 }, (_, n) => `s${String(n).padStart(4, "0")}`);
    const list: R2Bucket["list"] = async (options) => {
      const from = Number(options?.cursor ?? 0);
      const objects = names.slice(from, from + 400).map((key) => ({ key, customMetadata: {} }) as R2Object);
      const next = from + 400;
      return next < names.length
        ? { ...page, objects, truncated: true, cursor: String(next) }
        : { ...page, objects, truncated: false };
    };
    const skills = new R2SkillProvider({ list, get: async () => null });
    const lines = (await skills.get())?.split("\n") ?? [];
    expect([lines.length, lines[0], lines[999]]).toEqual([1_001, "- s0000", "- s0999"]);
    expect(lines[1_000]).toContain("There are more");
  });

  test("are written only by the provider that is made for it, where they were read from, keeping what is not given", async () => {
    await put("skills/pdf/SKILL.md", "old", "Reads PDFs");
    await withContexts(async ({ blocks }) => {
      blocks.withContext("guides", { provider: new R2SkillProvider(bucket, { prefix: "skills/" }) });
      expect(await codeOf(blocks.setContextEntry("guides", { key: "pdf", content: "x" }))).toBe("readonly_block");
      blocks.withContext("skills", { provider: new WritableR2SkillProvider(bucket, { prefix: "skills/" }) });
      await blocks.setContextEntry("skills", { key: "pdf", content: "new" });
      await blocks.setContextEntry("skills", { key: "sql", content: "Joins", description: "Queries, größer" });
      expect(await blocks.refreshSystemPrompt()).toContain("- pdf: Reads PDFs\n- sql: Queries, größer");
      expect(await blocks.loadSkill("skills", "pdf")).toBe("new");
      expect((await bucket.list()).objects.map(({ key }) => key)).toEqual(["skills/pdf/SKILL.md", "skills/sql"]);
    });
  });

  test("of a bucket that is down are a typed error; what was loaded stays loaded", async () => {
    await put("pdf", "PDF TEXT");
    await withContexts(async ({ blocks }) => {
      let isDown = false;
      const flaky = new R2SkillProvider({
        list: (options) => (isDown ? down() : bucket.list(options)),
        get: (key) => (isDown ? down() : bucket.get(key)),
      });
      blocks.withContext("skills", { provider: flaky }).withCachedPrompt();
      const frozen = await blocks.freezeSystemPrompt();
      await blocks.loadSkill("skills", "pdf");
      isDown = true;
      expect(await codeOf(blocks.loadSkill("skills", "pdf"))).toBe("provider_failed");
      expect(await codeOf(blocks.refreshSystemPrompt())).toBe("provider_failed");
      expect(await blocks.freezeSystemPrompt()).toBe(frozen);
      expect(await blocks.getLoadedSkillKeys()).toEqual(new Set(["skills:pdf"]));
    });
  });
});

describe("what is loaded", () => {
  test("survives an eviction at 1 row a skill, without the history, until it is unloaded", async () => {
    await put("pdf", "PDF TEXT");
    await put("sql", "SQL TEXT");
    await withContexts(async ({ blocks, reopen, cost }) => {
      const provider = new R2SkillProvider(bucket);
      blocks.withContext("skills", { provider });
      expect((await cost(() => blocks.loadSkill("skills", "pdf"))).rowsWritten).toBe(1);
      expect((await cost(() => blocks.loadSkill("skills", "pdf"))).rowsWritten).toBe(0);
      await blocks.loadSkill("skills", "sql");
      expect(await codeOf(blocks.loadSkill("skills", "nothing"))).toBe("unknown_skill");
      const again = reopen().session("");
      expect(await again.getLoadedSkillKeys()).toEqual(new Set(["skills:pdf", "skills:sql"]));
      expect(await cost(() => blocks.getLoadedSkillKeys())).toEqual({ rowsRead: 2, rowsWritten: 0 });
      expect(await again.unloadSkill("skills", "pdf")).toBe(true);
      expect(await again.unloadSkill("skills", "pdf")).toBe(false);
      expect(await blocks.getLoadedSkillKeys()).toEqual(new Set(["skills:sql"]));
    });
  });

  test("is nothing more of a block that was removed; what its skills said is hidden like any that was unloaded", async () => {
    await put("pdf", "PDF TEXT");
    await withContexts(async ({ blocks, storage }) => {
      const skills = { provider: new R2SkillProvider(bucket) };
      blocks.withContext("skills", skills).withContext("others", skills);
      const output = await blocks.loadSkill("skills", "pdf");
      await blocks.loadSkill("others", "pdf");
      const input = { label: "skills", key: "pdf" };
      const call = { toolCallId: "1", state: "output-available", input, output } as const;
      const message: UIMessage = { id: "m", role: "assistant", parts: [{ type: "tool-load_context", ...call }] };
      expect(blocks.removeContext("skills")).toBe(true);
      expect(await blocks.getLoadedSkillKeys()).toEqual(new Set(["others:pdf"]));
      expect(JSON.stringify(blocks.hideUnloadedSkills([message]))).not.toContain("PDF TEXT");
      // Also when the object starts anew, where the block is not declared either.
      expect(dump(storage).loaded_skills).toBe(2);
    });
  });

  test("is what the model is sent: unloading takes the text out of the view, loading brings it back", async () => {
    await put("pdf", "PDF TEXT");
    await withContexts(async ({ blocks }) => {
      blocks.withContext("skills", { provider: new R2SkillProvider(bucket) });
      const output = await blocks.loadSkill("skills", "pdf");
      const call = {
        toolCallId: "1",
        state: "output-available",
        input: { label: "skills", key: "pdf" },
        output,
      } as const;
      const message: UIMessage = { id: "m", role: "assistant", parts: [{ type: "tool-load_context", ...call }] };
      expect(blocks.hideUnloadedSkills([message])).toEqual([message]);
      await blocks.unloadSkill("skills", "pdf");
      expect(JSON.stringify(blocks.hideUnloadedSkills([message]))).not.toContain("PDF TEXT");
      await blocks.loadSkill("skills", "pdf");
      expect(blocks.hideUnloadedSkills([message])).toEqual([message]);
    });
  });
});
