/** A turn that the person stops: what was said and done is stored, and the next prompt knows it. */
import { expect, test } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { STOPS, stoppable } from "../turn/stopped-step.ts";
import { given } from "./chat-model.ts";
import { connect, messagesOf, newChat, user } from "./chat.ts";

skipRetryDelays();

test.each(STOPS)("%s", async (stop) => {
  const { name } = newChat("idle");
  const { model, tools, reached, expectKnown } = stoppable(stop);
  given.set(name, { model, tools });
  const person = await connect(name);
  const id = person.request([user("u0", "Pay invoice 7, then read the log.")]);
  await reached();
  person.send({ type: "cf_agent_chat_request_cancel", id });
  await person.finished(id);
  await person.say(user("u1", "What now?"));
  expectKnown();
  const stored = JSON.stringify(await messagesOf(name));
  if (stop !== "while the model thinks") expect(stored).toContain("I pay the invoice");
});
