/**
 * Renders markdown from other authors. It keeps no HTML, loads nothing, and shows the host of each link.
 *
 * Two measures make it safe. react-markdown makes elements and never HTML, and rehype-sanitize drops everything outside its schema. A text
 * that is too long or too deep is shown as plain text.
 */
import { Component, memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import { clipText, isLayable, linkHost, showInvisible } from "./inert-text.ts";
import { plural } from "../format.ts";

const COMPONENTS: Components = {
  a: ({ href, children }) => {
    const host = linkHost(href);
    if (host === null) return <span className="no-link">{children}</span>;
    return (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow ugc" title={`Leads to ${host}`}>
        {children} <span className="link-host">({host})</span>
      </a>
    );
  },
  img: ({ alt }) => <span className="no-image">[image{alt ? `: ${alt}` : ""}, not loaded]</span>,
  input: ({ checked }) => <span>{checked === true ? "☑ " : "☐ "}</span>,
  // A message's headings must not count as headings of the page.
  h1: ({ children }) => <p className="said-heading">{children}</p>,
  h2: ({ children }) => <p className="said-heading">{children}</p>,
  h3: ({ children }) => <p className="said-heading">{children}</p>,
  h4: ({ children }) => <p className="said-heading">{children}</p>,
  h5: ({ children }) => <p className="said-heading">{children}</p>,
  h6: ({ children }) => <p className="said-heading">{children}</p>,
  pre: ({ children }) => (
    <pre tabIndex={0} className="code">
      {children}
    </pre>
  ),
};

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const seen = showInvisible(text);
  if (!isLayable(seen)) return <PlainText text={text} />;
  return (
    <div className="markdown" dir="auto">
      <Fallback text={text} key={text}>
        <ReactMarkdown rehypePlugins={[rehypeSanitize]} components={COMPONENTS}>
          {seen}
        </ReactMarkdown>
      </Fallback>
    </div>
  );
});

export function PlainText({ text }: { text: string }) {
  const { shown, left } = clipText(text);
  return (
    <>
      <pre className="plain" dir="auto" tabIndex={0}>
        {showInvisible(shown)}
      </pre>
      {left > 0 && <p className="note">{plural(left, "more character")} not shown. The export has them all.</p>}
    </>
  );
}

/** Shows the plain text where the layout failed. */
class Fallback extends Component<{ text: string; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? <PlainText text={this.props.text} /> : this.props.children;
  }
}
