/** A banner above every page that says why the page is not live and offers a remedy. */
import { useState } from "react";
import { Button, FieldError, Form, Input, Label, TextField } from "react-aria-components";
import { showInvisible } from "../reading/inert-text.ts";
import { useConnection, useLink, useWhy } from "../use-agent.ts";
import { Question } from "./dialog.tsx";

export function LinkBanner() {
  const connection = useConnection();
  const link = useLink();
  const said = useWhy();
  const why = said === null ? null : showInvisible(said);
  if (link === "lost") {
    return (
      <div className="banner" role="alert">
        The connection is down. {why !== null && `${why} `}What you see may be out of date; it is fetched again as soon
        as the agent answers.{" "}
        <button type="button" onClick={() => connection.retry()}>
          Try now
        </button>
      </div>
    );
  }
  if (link === "closed") {
    return (
      <div className="banner" role="alert">
        This page is closed. {why !== null && `${why} `}
        <button type="button" onClick={() => connection.retry()}>
          Try again
        </button>
      </div>
    );
  }
  if (link === "refused") {
    return (
      <div className="banner" role="alert">
        The agent “{showInvisible(connection.name)}” is not here, or not yours.{" "}
        {why !== null && `The Worker says: ${why} `}Choose another one above.
      </div>
    );
  }
  return link === "locked" ? <Locked why={why} /> : null;
}

/** The dialog can be closed, because a person may choose another agent. A button opens it again. */
function Locked({ why }: { why: string | null }) {
  const [isAsking, setAsking] = useState(true);
  return (
    <>
      <div className="banner" role="alert">
        This Worker is locked.{" "}
        <button type="button" onClick={() => setAsking(true)}>
          Give its secret …
        </button>
      </div>
      <Question title="This Worker is locked" isOpen={isAsking} onClose={() => setAsking(false)}>
        <Unlock why={why} />
      </Question>
    </>
  );
}

function Unlock({ why }: { why: string | null }) {
  const connection = useConnection();
  const [secret, setSecret] = useState("");
  const [wrong, setWrong] = useState(why);
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault();
        setWrong(connection.unlock(secret.trim()));
      }}
    >
      <p>Give the secret that its operator chose. It stays in this tab, and goes to this Worker alone.</p>
      <TextField
        type="password"
        value={secret}
        onChange={(typed) => {
          setSecret(typed);
          setWrong(null);
        }}
        isInvalid={wrong !== null}
        validationBehavior="aria"
      >
        <Label>Secret</Label>
        <Input autoComplete="off" />
        <FieldError className="told failed">{wrong}</FieldError>
      </TextField>
      <Button type="submit">Unlock</Button>
    </Form>
  );
}
