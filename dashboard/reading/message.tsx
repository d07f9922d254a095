/** Shows one message with its author, its text and its tool calls. */
import { memo, type ReactNode } from "react";
import type { UIMessage } from "ai";
import { parseSyntheticId } from "../../src/steps/view/view.ts";
import { hasResult, toolName, toolPart, type Part } from "../../src/steps/message/message.ts";
import { Markdown, PlainText } from "./markdown.tsx";
import { showInvisible } from "./inert-text.ts";

export interface MessageProps {
  readonly message: UIMessage;
  /** `written` is a message of the view. `shining` is an original under a summary. */
  readonly ink?: "written" | "shining";
  readonly children?: ReactNode;
}

const WHO: Readonly<Record<string, string>> = { user: "User", assistant: "Assistant", system: "System" };

export const Message = memo(function Message({ message, ink = "written", children }: MessageProps) {
  const slice = parseSyntheticId(message.id);
  const who = WHO[message.role] ?? showInvisible(message.role);
  return (
    <article className={`message message-${message.role === "user" ? "user" : "other"} ink-${ink}`} aria-label={who}>
      <header>
        <span className="who">{who}</span>
        <code className="id" title={message.id}>
          {slice?.kind === "slice" ? `part of ${showInvisible(slice.messageId)}` : showInvisible(message.id)}
        </code>
        {children}
      </header>
      {parts(message).map((part, at) => (
        // A part has no id but its index.
        // oxlint-disable-next-line react/no-array-index-key
        <PartView part={part} key={at} />
      ))}
    </article>
  );
});

/** Stored messages were checked, but a caller's own summary function or an old row may give a message without parts. */
function parts(message: UIMessage): readonly Part[] {
  return Array.isArray(message.parts) ? message.parts : [];
}

function PartView({ part }: { part: Part }) {
  const tool = toolPart(part);
  if (tool !== null) {
    const failed = tool.state === "output-error";
    return (
      <details className={`tool ${failed ? "tool-failed" : ""}`}>
        <summary>
          <span className="tool-name">{showInvisible(toolName(tool))}</span>{" "}
          <span className="tool-state">{hasResult(tool) ? (failed ? "failed" : "answered") : "no answer yet"}</span>
        </summary>
        <p className="label">asked</p>
        <PlainText text={toText(tool.input)} />
        {hasResult(tool) && <p className="label">{failed ? "error" : "answer"}</p>}
        {hasResult(tool) && <PlainText text={toText(failed ? tool.errorText : tool.output)} />}
      </details>
    );
  }
  if (part.type === "text") return <Markdown text={toText(part.text)} />;
  if (part.type === "step-start") return <hr className="step" />;
  if (part.type === "reasoning") {
    return (
      <details className="reasoning">
        <summary>Reasoning</summary>
        <Markdown text={toText(part.text)} />
      </details>
    );
  }
  if (part.type === "file") {
    const name = part.filename === undefined ? "" : `: ${showInvisible(part.filename)}`;
    return (
      <p className="no-image">
        [file{name}, {showInvisible(part.mediaType)}, not loaded]
      </p>
    );
  }
  return (
    <details className="tool">
      <summary>{showInvisible(part.type)}</summary>
      <PlainText text={toText(part)} />
    </details>
  );
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : (JSON.stringify(value, null, 2) ?? "");
}
