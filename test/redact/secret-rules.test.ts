/** What is blanked before a conversation leaves: by shape, by place, and nothing else. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { secretRules } from "../../src/redact/secret-rules.ts";
import { readTranscript } from "../steps/transcripts.ts";

const { redactText, redactMessage } = secretRules();

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
  ["registry token", `npm_${letters(36)}`],
  ["model key", `hf_${letters(34)}`],
  ["mail key", `SG.${letters(22)}.${letters(43)}`],
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
    ["redis://:hunter@cache", "redis://[redacted: credentials]@cache"],
    ["postgres://u:p/4ss@h/db", "postgres://[redacted: credentials]@h/db"],
    ["postgres://u:p@ss@h/db", "postgres://[redacted: credentials]@h/db"],
    ["password=hunterhunter", "password=[redacted: secret]"],
    ["--passphrase=correct-horse --yes", "--passphrase=[redacted: secret] --yes"],
    ["https://x.example?access_token=abcdefghij&b=1", "https://x.example?access_token=[redacted: secret]&b=1"],
    ["password: a1b2", "password: [redacted: secret]"],
    ["pwd=abcd12", "pwd=[redacted: secret]"],
    ["db:\n  password: hunterhunter\n  port: 1", "db:\n  password: [redacted: secret]\n  port: 1"],
    ['password = "abc def ghi"', 'password = "[redacted: secret]"'],
    ['{"password":"a\\"b"}', '{"password":"[redacted: secret]"}'],
    ['{\\"password\\":\\"aaaabbbb\\",\\"n\\":1}', '{\\"password\\":\\"[redacted: secret]\\",\\"n\\":1}'],
    ['{\\"api_key\\":\\"aaaabbbb1\\"}', '{\\"api_key\\":\\"[redacted: secret]\\"}'],
    ["Cookie: session=abcd; theme=dark\nHost: x", "Cookie: [redacted: cookie]\nHost: x"],
    ["-H 'Set-Cookie: sid=1; HttpOnly'", "-H 'Set-Cookie: [redacted: cookie]'"],
    [
      `https://hooks.slack.com/services/T000/B000/${letters(24)}`,
      "https://hooks.slack.com/services/[redacted: chat token]",
    ],
  ])("%s", (text, clean) => expect(redactText(text)).toBe(clean));

  test.each([
    "The token: estimated, the secret: patience, the password: none.",
    "connect({ password, token, secret: secretOf(env), pwd: cwd() })",
    "connect(host, password=password, token=tokenizer)",
    "password=process.env.DB_PASSWORD token=config.token.value",
    "DB_PASSWORD=$DB_PASSWORD API_KEY=${API_KEY} secret=<your-secret> password={{ password }}",
    "interface Login {\n  password: string;\n  token: number\n}",
    'schema: { "password": { "type": "string" }, "pwd": "/home/user1/project" }',
    "PWD=/home/user1/project npm test",
    "The cookie: one jar, 12 tokens = 12345678 bytes",
    "http://localhost:3000/@vite/client and https://example.com:8443?mail=a@b.example",
    "max_tokens=12345678 and tokens: 12345678",
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

test("a member's name says that it holds a secret, however it is spelt and whatever stands there; other members stay", () => {
  const secret = "[redacted: secret]";
  const clean = redactMessage({
    id: "m",
    role: "user",
    metadata: {
      client_secret: "zzzz",
      DB_PASSWORD: "hunter",
      refreshToken: "x",
      "x-api-key": "k",
      "Set-Cookie": "a=b",
    },
    parts: [
      { type: "data-x", data: { password: 12_345_678, token: ["a", 1, { of: "it" }], Authorization: "Bearer short" } },
    ],
  });
  expect(clean.metadata).toEqual({
    client_secret: secret,
    DB_PASSWORD: secret,
    refreshToken: secret,
    "x-api-key": secret,
    "Set-Cookie": secret,
  });
  expect(clean.parts).toEqual([
    { type: "data-x", data: { password: secret, token: [secret, secret, { of: "it" }], Authorization: secret } },
  ]);
  const kept = {
    passwordRequired: true,
    password: null,
    secret: "",
    maxTokens: 5,
    tokens: [1, 2],
    tokenizer: "bpe",
    pwd: "/home/user1",
    properties: { password: { type: "string" } },
  };
  expect(redactMessage({ id: "m", role: "user", metadata: kept, parts: [] }).metadata).toEqual(kept);
});

test("what is assigned to a password is gone, in a shell, in JSON and in JSON within JSON, whatever it is", () => {
  const name = fc.constantFrom("password", "DB_PASSWORD", "db-passwd", "passphrase", "client_secret", "clientSecret");
  const value = fc.stringMatching(/^[\w.+!#^=:/@-][\w.+!#^=:/@ -]{2,38}[\w.+!#^=:/@-]$/);
  fc.assert(
    fc.property(name, value, fc.integer({ min: 0, max: 3 }), (key, hidden, depth) => {
      fc.pre(!key.includes(hidden) && !hidden.includes("://") && !/^(?:string|true|false|null|none)\b/i.test(hidden));
      let text = JSON.stringify({ a: 1, [key]: hidden, z: 2 });
      for (let layer = 0; layer < depth; layer++) text = JSON.stringify({ output: text });
      expect(redactText(text)).not.toContain(`"${hidden}`);
      expect(redactText(text)).toContain("[redacted: secret]");
      if (!hidden.includes(" ") && !/^\w+\.[a-z_]/i.test(hidden)) {
        expect(redactText(`export ${key}=${hidden}\n`)).toBe(`export ${key}=[redacted: secret]\n`);
      }
    }),
  );
});

test.each(["pi-coding-session.jsonl", "tau-airline-100.json"])(
  "of a real transcript without secrets nothing is blanked: %s",
  (name) => {
    const text = readTranscript(name);
    if (text === null) return;
    expect(redactText(text)).toBe(text);
  },
);

test("redacting twice changes nothing more", () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom(
      ...SECRETS.map(([, secret]) => secret),
      "password=",
      'password="',
      '\\"password\\": \\"',
      "token: ",
      "cookie: a=",
      "Bearer ",
      "://a:b@",
      "://:",
    ),
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
    'password="',
    'password\\\\\\"',
    "pwd=\\",
    "cookie: a",
    "://",
    "://a:b@c",
    "a.password: b",
    "\\",
    "token=a ",
    "- \n",
    "SG.",
  ];
  for (const word of hostile) {
    const started = performance.now();
    redactText(word.repeat(size / word.length));
    expect(performance.now() - started, word).toBeLessThan(3_000);
  }
});
