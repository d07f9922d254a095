/** Compares a summary with those that it replaced. Bullets are added, dropped, kept or reworded. */
import type { KeptBullet } from "../../src/inspect/room.ts";
import { Empty, Shown } from "../frame/states.tsx";
import { showInvisible } from "../reading/inert-text.ts";
import { useCall } from "../use-agent.ts";
import { Withheld } from "./withheld.tsx";

interface Entry {
  readonly section: string;
  readonly text: string;
  readonly before: string | null;
}

export function LayerDiff({ sessionId, overlayId }: { sessionId: string; overlayId: string }) {
  const diff = useCall("diffCompaction", { sessionId, overlayId });
  return (
    <Shown asked={diff} what="what it changed">
      {(diff) => {
        if (diff.kind === "gone")
          return <Empty title="The messages under it were deleted: nothing is left to compare." />;
        if (diff.kind === "withheld") return <Withheld />;
        if (diff.replaced.length === 0) return <Empty title="It replaced no earlier layer: all of it is new." />;
        const reworded = diff.kept.filter((bullet) => bullet.before !== null);
        const kept = diff.kept.filter((bullet) => bullet.before === null);
        return (
          <div className="diff">
            <Bullets title="Added" sign="+" entries={diff.added.map(plain)} />
            <Bullets title="Dropped" sign="−" entries={diff.dropped.map(plain)} />
            <Bullets title="In other words" sign="~" entries={reworded} />
            <Bullets title="Kept" sign="=" entries={kept} />
          </div>
        );
      }}
    </Shown>
  );
}

function plain({ section, text }: Pick<KeptBullet, "section" | "text">): Entry {
  return { section, text, before: null };
}

function Bullets({ title, sign, entries }: { title: string; sign: string; entries: readonly Entry[] }) {
  if (entries.length === 0) return null;
  return (
    <details open={sign !== "="}>
      <summary>
        {title} <span className="dim">{entries.length}</span>
      </summary>
      <ul className={`bullets bullets-${title.split(" ")[0]?.toLowerCase()}`}>
        {entries.map(({ section, text, before }) => (
          <li key={`${section}/${text}`} dir="auto">
            <span aria-hidden="true">{sign}</span> {before !== null && <del>{showInvisible(before)} </del>}
            {showInvisible(text)} <span className="dim">{showInvisible(section)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
