/** The frame around every page, with the name, the navigation, the agent, the state of the connection and the theme. */
import type { ReactNode } from "react";
import { formatRoute, type Route } from "../route.ts";
import { useLink } from "../use-agent.ts";
import { LinkBanner } from "./link-banner.tsx";
import { THEMES, useTheme } from "./theme.ts";

export function Frame({ route, children }: { route: Route; children: ReactNode }) {
  const [theme, setTheme] = useTheme();
  const { agent } = route;
  const ways = [
    { name: "Sessions", to: { page: "sessions", agent, query: "" } as const, pages: ["sessions", "session", "runs"] },
    { name: "Health", to: { page: "health", agent } as const, pages: ["health"] },
  ];
  return (
    <>
      <a className="skip" href="#main" onClick={focusMain}>
        To the content
      </a>
      <header className="top">
        <a className="name" href={formatRoute({ page: "sessions", agent, query: "" })}>
          <img src="./mark.svg" alt="" width="26" height="26" />
          Palimpsest
        </a>
        <nav aria-label="Pages">
          {ways.map(({ name, to, pages }) => (
            <a key={name} href={formatRoute(to)} aria-current={pages.includes(route.page) ? "page" : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <AgentChoice agent={agent} />
        <LinkState />
        <label className="theme">
          <span className="unseen">Theme</span>
          <select value={theme} onChange={(event) => setTheme(THEMES[event.target.selectedIndex] ?? "system")}>
            {THEMES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </header>
      <LinkBanner />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

/** The address selects the open page, so a link to a part of the page must not change it. */
function focusMain(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

function AgentChoice({ agent }: { agent: string }) {
  return (
    <form
      className="agent"
      key={agent}
      onSubmit={(event) => {
        event.preventDefault();
        const name = new FormData(event.currentTarget).get("agent");
        if (typeof name === "string" && name.trim() !== "") {
          globalThis.location.hash = formatRoute({ page: "sessions", agent: name.trim(), query: "" });
        }
      }}
    >
      <label>
        <span>Agent</span> <input name="agent" defaultValue={agent} spellCheck={false} autoComplete="off" />
      </label>
    </form>
  );
}

const LINKS = {
  connecting: "connecting",
  open: "live",
  lost: "offline",
  locked: "locked",
  closed: "closed",
  refused: "not found",
} as const;

function LinkState() {
  const link = useLink();
  return (
    <span className={`link link-${link}`} role="status">
      {LINKS[link]}
    </span>
  );
}
