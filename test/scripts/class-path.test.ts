/** The command line writes the class of an agent in an address as the SDK does. */
import { expect, test } from "vitest";
// The SDK exports it only beside code of the platform, which Node cannot load.
import { camelCaseToKebabCase } from "../../node_modules/agents/dist/utils.js";
import { classPath } from "../../scripts/cli/class-path.ts";

test.for(["ChatAgent", "chat-agent", "Chat", "CHAT", "MY_CHAT", "my_chat", "ChatX", "HTTPChat", "Chat_", "_"])(
  "the class %s is named in an address as the SDK names it",
  (name) => {
    expect(classPath(name)).toBe(camelCaseToKebabCase(name));
  },
);
