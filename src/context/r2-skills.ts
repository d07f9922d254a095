/**
 * Skills in an R2 bucket, one object each. The description is in the object's custom metadata.
 *
 * `<prefix><key>/SKILL.md` is the skill `<key>`. Other objects in its folder can be loaded by path but are not listed. Any other object
 * `<prefix><key>` is a skill of its own. Every name is appended to the prefix, and R2 has no way up from there, so no object outside is
 * reachable.
 */
import { PalimpsestError } from "../errors.ts";
import { MAX_SKILLS, SKILL_DESCRIPTION_CHARS } from "../limits.ts";
import type { SkillProvider } from "./provider.ts";
import { plainLine } from "./render.ts";

const SKILL_FILE = "/SKILL.md";

/** The part of a bucket that reading needs. */
interface ReadableBucket extends Pick<R2Bucket, "list"> {
  get(key: string): Promise<{ text(): Promise<string> } | null>;
}

export interface R2SkillOptions {
  /** Prefix of every object's name, usually with "/" at its end. Default: the whole bucket. */
  readonly prefix?: string | undefined;
  /** The only keys that are listed, loaded and written. A folder's key includes its contents. Default: all. */
  readonly keys?: readonly string[] | undefined;
}

/** Read-only, because a model that rewrites instructions could instruct later sessions. */
export class R2SkillProvider implements SkillProvider {
  readonly #bucket: ReadableBucket;
  readonly #prefix: string;
  readonly #keys: ReadonlySet<string> | null;

  constructor(bucket: ReadableBucket, options: R2SkillOptions = {}) {
    this.#bucket = bucket;
    this.#prefix = options.prefix ?? "";
    this.#keys = options.keys === undefined ? null : new Set(options.keys);
  }

  /** Returns one line `- key: description` for each skill, in the order of keys. */
  async get(): Promise<string | null> {
    const { objects, more } = await this.#list();
    const folders = new Set(objects.filter(({ name }) => name.endsWith(SKILL_FILE)).map(({ name }) => folderOf(name)));
    const skills = objects.filter(({ name }) => name.endsWith(SKILL_FILE) || !isInside(name, folders));
    const lines = skills.map(({ name, description }) => {
      const key = name.endsWith(SKILL_FILE) ? folderOf(name) : name;
      return description === "" ? `- ${key}` : `- ${key}: ${description}`;
    });
    if (more) lines.push("(There are more, which can be loaded by key.)");
    return lines.length === 0 ? null : lines.join("\n");
  }

  async load(key: string): Promise<string | null> {
    if (!this.allows(key)) return null;
    const found = (await this.#bucket.get(this.fileOf(key))) ?? (await this.#bucket.get(this.nameOf(key)));
    return found === null ? null : found.text();
  }

  protected allows(key: string): boolean {
    return this.#keys === null || this.#keys.has(key) || isInside(key, this.#keys);
  }

  protected nameOf(key: string): string {
    return this.#prefix + key;
  }

  protected fileOf(key: string): string {
    return this.#prefix + key + SKILL_FILE;
  }

  async #list(): Promise<{ objects: { name: string; description: string }[]; more: boolean }> {
    const objects: { name: string; description: string }[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#bucket.list({
        prefix: this.#prefix,
        include: ["customMetadata"],
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const object of page.objects) {
        const name = object.key.slice(this.#prefix.length);
        const description = plainLine(object.customMetadata?.["description"] ?? "").slice(0, SKILL_DESCRIPTION_CHARS);
        if (name !== "" && !name.endsWith("/") && this.allows(name)) objects.push({ name, description });
      }
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined && objects.length < MAX_SKILLS);
    return { objects: objects.slice(0, MAX_SKILLS), more: cursor !== undefined || objects.length > MAX_SKILLS };
  }
}

/** Adds `set`, so the model may write skills. A skill is written to the object that it was read from, or else under its plain key. */
export class WritableR2SkillProvider extends R2SkillProvider {
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket, options?: R2SkillOptions) {
    super(bucket, options);
    this.#bucket = bucket;
  }

  async set(key: string, content: string, description?: string): Promise<void> {
    if (!this.allows(key)) {
      throw new PalimpsestError(
        "unknown_skill",
        `"${key}" is none of the keys that may be written. Use a key that is listed.`,
      );
    }
    const inFolder = await this.#bucket.head(this.fileOf(key));
    const known = inFolder ?? (await this.#bucket.head(this.nameOf(key)));
    const kept = known?.customMetadata ?? {};
    await this.#bucket.put(inFolder === null ? this.nameOf(key) : this.fileOf(key), content, {
      httpMetadata: { contentType: "text/markdown; charset=utf-8" },
      customMetadata: description === undefined ? kept : { ...kept, description },
    });
  }
}

function folderOf(name: string): string {
  return name.slice(0, -SKILL_FILE.length);
}

function isInside(name: string, folders: ReadonlySet<string>): boolean {
  for (let slash = name.indexOf("/"); slash !== -1; slash = name.indexOf("/", slash + 1)) {
    if (folders.has(name.slice(0, slash))) return true;
  }
  return false;
}
