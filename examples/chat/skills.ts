/** What the clerk can look up when a task calls for it. The model reads a skill whole, and puts it away when it is done. */

/** In front of the skills' names in the bucket. */
export const SHELF = "skills/";

interface Skill {
  /** What the system prompt shows of it. */
  readonly description: string;
  readonly text: string;
}

const SKILLS: Readonly<Record<string, Skill>> = {
  letters: {
    description: "How to answer letters that the archive receives",
    text: `# Letters
Open with the date of the page that you answer from, never with today's.
Quote the keeper's words as they stand, also where the spelling is old.
When a page is missing, say which pages on either side of it are there.
End every answer with "Your obedient clerk."`,
  },
  "oil-audit": {
    description: "How to check the oil that was burnt against the oil that was left",
    text: `# Oil audit
A lamp burns 13 pints between two pages. Read the pages on either side of a doubt, and subtract.
Report a difference of more than 2 pints with both page numbers. A smaller one is spillage.`,
  },
};

/** Puts the example's skills into the bucket where they are absent, so that your changes stay. */
export async function stockShelf(bucket: R2Bucket): Promise<void> {
  const { objects } = await bucket.list({ prefix: SHELF });
  const stocked = new Set(objects.map(({ key }) => key));
  for (const [key, { description, text }] of Object.entries(SKILLS)) {
    const name = `${SHELF}${key}/SKILL.md`;
    if (!stocked.has(name)) await bucket.put(name, text, { customMetadata: { description } });
  }
}
