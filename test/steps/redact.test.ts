/** What is blanked before a conversation leaves: by shape, by place, and nothing else. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redactMessage, redactText } from "../../src/steps/redact.ts";

const letters = (n: number): string => "aB3dE5fG7h".repeat(Math.ceil(n / 10)).slice(0, n);

const pem = (of: string, end: string): string => {
  const line = (word: string): string => `-----${word} ${of}PRIVATE KEY-----`;
  return [line("BEGIN"), letters(64), letters(30), line("END")].join(end);
};

/** Put together here, so that no scanner of this repository takes one for real. */
const SECRETS: readonly (readonly [string, string])[] = [
  ["private key", pem("RSA ", "\n")],
  ["private key", pem("", "\\n")],
  ["cloud key", `AKIA${"ABCD1234".repeat(2)}`],
  ["cloud key", `AIza${letters(35)}`],
  ["repository token", `ghp_${letters(36)}`],
  ["model key", `sk-ant-api03-${letters(40)}`],
  ["payment key", `sk_live_${letters(24)}`],
  ["chat token", `xoxb-1234-${letters(20)}`],
  ["signed token", `eyJ${letters(20)}.${letters(30)}.${letters(40)}`],
];

describe("what is a secret by its shape or place goes, and what stands around it stays", () => {
  test.each(SECRETS)("%s", (kind, secret) => {
    expect(redactText(`Use ${secret} for it.`)).toBe(`Use [redacted: ${kind}] for it.`);
    expect(redactText(`{"key":"${secret}"}`)).toBe(`{"key":"[redacted: ${kind}]"}`);
  });

  test.each([
    ["password=hunter22", "password=[redacted: secret]"],
    ['API_KEY: "abcd1234efgh"', 'API_KEY: "[redacted: secret]"'],
    ["DB_PASSWORD=hunter2222;", "DB_PASSWORD=[redacted: secret];"],
    [`Authorization: Bearer ${letters(30)}`, "Authorization: Bearer [redacted: credentials]"],
    ["postgres://admin:pa55word@db:5432/x", "postgres://[redacted: credentials]@db:5432/x"],
  ])("%s", (text, clean) => expect(redactText(text)).toBe(clean));

  test.each([
    "The token: estimated, the secret: patience, the password: none.",
    "task-1234-abcdefghijklmnop-qrstuvwxyz",
    "src/steps/risk-assessment-of-many-things.ts",
    "https://example.com:8080/a@b?c=d",
    "sk-short and ghp_short and eyJhbGciOi.x.y",
    "0123456789abcdef0123456789abcdef01234567",
  ])("%s is left as it is", (text) => expect(redactText(text)).toBe(text));
});

test("every text of a message is looked at, in arguments and results of tools too; ids and shape stay", () => {
  const secret = `ghp_${letters(36)}`;
  const message = {
    id: `m-${secret}`,
    role: "assistant",
    metadata: { note: secret },
    parts: [
      { type: "text", text: `a ${secret}` },
      {
        type: "tool-run",
        toolCallId: "call-1",
        state: "output-available",
        input: { env: [`T=${secret}`], password: "plain words" },
        output: { deep: { deeper: secret }, n: 1, none: null },
      },
    ],
  } as unknown as UIMessage;
  const clean = redactMessage(message);
  expect(JSON.stringify({ ...clean, id: "" })).not.toContain(secret);
  expect(clean).toMatchObject({
    id: message.id,
    parts: [
      { text: "a [redacted: repository token]" },
      { toolCallId: "call-1", input: { password: "[redacted: secret]" }, output: { n: 1, none: null } },
    ],
  });
  expect(JSON.stringify(message)).toContain(secret);
});

test("redacting twice changes nothing more", () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom(...SECRETS.map(([, secret]) => secret), "password=", "Bearer ", "://a:b@"),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (words) => {
      const once = redactText(words.join(" "));
      expect(redactText(once)).toBe(once);
    }),
  );
});

test("a text made to be slow is not: each pattern looks at each character a bounded number of times", () => {
  const size = 200_000;
  const hostile = [
    "eyJ",
    "eyJ-",
    "sk-",
    "-----BEGIN PRIVATE KEY-----",
    "://a:",
    "password=",
    "token: ",
    "a",
    "Bearer ",
    "ghp_",
  ];
  for (const word of hostile) {
    const started = performance.now();
    redactText(word.repeat(size / word.length));
    expect(performance.now() - started, word).toBeLessThan(3_000);
  }
});
