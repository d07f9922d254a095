/** Placeholders for an answer that is loading, failed or empty. */
import type { ReactNode } from "react";
import { showInvisible } from "../reading/inert-text.ts";
import { useLink, type Act, type Asked } from "../use-agent.ts";

/** Shows an answer once it is there. It is pale while the socket is down. */
export function Shown<T>({
  asked,
  what,
  children,
}: {
  asked: Asked<T>;
  what: string;
  children: (value: T) => ReactNode;
}) {
  if (asked.kind === "loading") return <Loading what={what} />;
  if (asked.kind === "failed") {
    if (!isClosed(asked)) return <Failed what={what} error={asked.error} />;
    return <Empty title={`This agent does not open ${what} to the page.`}>{showInvisible(asked.error)}</Empty>;
  }
  return (
    <div className={asked.stale ? "stale" : "fresh"} aria-busy={asked.stale}>
      {children(asked.value)}
    </div>
  );
}

/** Whether the agent lacks the call, or does not open it. Its error says which line adds it. */
export function isClosed<T>(asked: Asked<T>): boolean {
  return asked.kind === "failed" && asked.code === "not_configured";
}

export function Loading({ what }: { what: string }) {
  const link = useLink();
  const waitsForPerson = link === "locked" || link === "closed" || link === "refused";
  return (
    <p className="loading" role="status">
      {waitsForPerson ? `Not read yet: ${what}.` : `Reading ${what} …`}
    </p>
  );
}

export function Failed({ what, error }: { what: string; error: string }) {
  return (
    <div className="failed" role="alert">
      <b>Could not read {what}.</b> {showInvisible(error)}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <b>{title}</b>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

/** Shows the result of a person's last request, also to a screen reader. */
export function Told({ act }: { act: Act }) {
  return (
    <p className={`told ${act.told?.kind ?? ""}`} role="status">
      {act.busy ? "Asking …" : showInvisible(act.told?.text ?? "")}
    </p>
  );
}
