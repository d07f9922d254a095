import { getToolName, isToolUIPart, type UIMessage } from "ai";

interface MessageProps {
  readonly message: UIMessage;
  readonly answer: (answer: { id: string; approved: boolean }) => void;
}

export function Message({ message, answer }: MessageProps) {
  return (
    <li className={message.role}>
      {message.parts.map((part, at) => {
        const key = `${message.id} ${at}`;
        if (part.type === "text") return <p key={key}>{part.text}</p>;
        if (!isToolUIPart(part)) return null;
        const asked = part.state === "approval-requested" ? part.approval.id : null;
        return (
          <div className="tool" key={key}>
            {getToolName(part)} {JSON.stringify(part.input)}: {part.state}
            {asked !== null && (
              <>
                <button type="button" onClick={() => answer({ id: asked, approved: true })}>
                  Approve
                </button>
                <button type="button" onClick={() => answer({ id: asked, approved: false })}>
                  Refuse
                </button>
              </>
            )}
          </div>
        );
      })}
    </li>
  );
}
