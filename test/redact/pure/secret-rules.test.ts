/** The texts that redaction blanks before a conversation leaves, by shape and by place, and nothing else. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { secretRules } from "../../../src/redact/secret-rules.ts";
import { expectLinear } from "../../growth.ts";

const { redactText, redactMessage } = secretRules();

const letters = (n: number): string => "aB3dE5fG7h".repeat(Math.ceil(n / 10)).slice(0, n);

const hex = (n: number): string => "0123456789abcdef".repeat(Math.ceil(n / 16)).slice(0, n);

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
  ["cloud key", `fm2_${letters(120)}`],
  ["cloud key", `AQVN${letters(36)}`],
  ["cloud key", `t1.${letters(60)}.${letters(86)}`],
  ["cloud key", `v1.0-${hex(24)}-${hex(146)}`],
  ["data key", `sb_secret_${letters(31)}`],
  ["service key", `pat${letters(14)}.${hex(64)}`],
  ["service key", `2/${"1234567890123456/".repeat(2).slice(0, -1)}:${hex(32)}`],
  ["service key", `re_${letters(8)}_${letters(24)}`],
  ["service key", `lsv2_pt_${hex(32)}_${hex(10)}`],
  ["service key", `sha256~${letters(43)}`],
  ["service key", `shippo_live_${hex(40)}`],
  ["service key", `tfp_${letters(20)}_${letters(24)}`],
  ["service key", `pat.${letters(22)}.${hex(24)}.${letters(20)}`],
  ["service key", `rnd_${letters(28)}`],
  ["service key", `aio_${letters(28)}`],
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
    ['password = "...Xy7kd82Qp"', 'password = "[redacted: secret]"'],
    ['password = "..."', 'password = "..."'],
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
    ["My PIN is 4821.", "My PIN is [redacted: secret]."],
    ["door_pin=902134", "door_pin=[redacted: secret]"],
    ['{"simPin": 48213}', '{"simPin": [redacted: secret]}'],
    [`A3-ABC123-${"ABCDE6".repeat(2).slice(0, 11)}-ABCD5-ABC45-AB345`, "[redacted: vault key]"],
    [`A3-ABC123-ABC456-ABC78-ABCD5-ABC45-AB345`, "[redacted: vault key]"],
    [`api_org_${letters(34)}`, "[redacted: model key]"],
  ])("%s", (text, clean) => expect(redactText(text)).toBe(clean));

  test.each([
    "Use sha256 as the password hash, and utf8 for the password field",
    "We take bcrypt as the password algorithm and port 5432 for the password reset",
    "pin 13 is an output, PIN=7, spin: 2000, pinned: 2019, the pin: blue, { pin: true }",
    "api_org_settings and A3-PAPER-SIZE",
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
    "sb_secret_key_of_the_environment, pat.name.first, re_compiled_expressions, sha256~ and v1.0-rc",
    "https://example.com:8080/a@b?c=d",
    "sk-short and ghp_short and eyJhbGciOi.x.y",
    "0123456789abcdef0123456789abcdef01234567",
  ])("%s is left as it is", (text) => expect(redactText(text)).toBe(text));
});

const KEY_LINES = [letters(64), letters(64), `${letters(30)}==`];
const FIRST = (of: string): string => `-----BEGIN ${of}-----`;
const LAST = (of: string): string => `-----END ${of}-----`;

describe("of a private key the whole body goes, however it is laid out", () => {
  const plain = [FIRST("RSA PRIVATE KEY"), ...KEY_LINES, LAST("RSA PRIVATE KEY")];
  test.each<[string, readonly string[]]>([
    ["as in a file", plain],
    ["behind line numbers of a listing", plain.map((line, n) => `${String(n + 1).padStart(6)}\t${line}`)],
    ["behind line numbers with an arrow", plain.map((line, n) => `${String(n + 1).padStart(6)}→${line}`)],
    ["behind numbers and bars", plain.map((line, n) => `${n + 1} | ${line}`)],
    ["quoted as a reply", plain.map((line) => `> ${line}`)],
    ["in code that adds texts up", plain.map((line) => `  "${line}\\n" +`)],
    ["in a difference", plain.map((line) => `+${line}`)],
    ["indented in YAML", plain.map((line) => `    ${line}`)],
    [
      "with headers",
      [plain[0] ?? "", "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", "", ...plain.slice(1)],
    ],
    [
      "of PGP",
      [
        FIRST("PGP PRIVATE KEY BLOCK"),
        "Version: GnuPG v2",
        "Comment: mine",
        "",
        ...KEY_LINES,
        "=aB3d",
        LAST("PGP PRIVATE KEY BLOCK"),
      ],
    ],
    ["of OpenSSH", [FIRST("OPENSSH PRIVATE KEY"), ...KEY_LINES, LAST("OPENSSH PRIVATE KEY")]],
    ["cut off before its end", plain.slice(0, -1)],
    ["cut off before its beginning", plain.slice(1)],
    ["cut off at its beginning, behind line numbers", plain.slice(1).map((line, n) => `${n + 31}\t${line}`)],
    ["cut off at its beginning, in a difference", plain.slice(1).map((line) => `-${line}`)],
    ["cut off, behind line numbers", plain.slice(0, -1).map((line, n) => `${String(n + 1).padStart(6)}\t${line}`)],
  ])("%s", (_, lines) => {
    for (const text of [
      lines.join("\n"),
      JSON.stringify(lines.join("\n")),
      JSON.stringify({ key: JSON.stringify(lines.join("\n")) }),
    ]) {
      const clean = redactText(`Before.\n${text}\nAfter it.`);
      for (const line of KEY_LINES) expect(clean).not.toContain(line.slice(0, 16));
      expect(clean).toMatch(/^Before\.\n[^]*\[redacted: [^]*After it\.$/);
    }
  });

  test("code that only names the lines, and a public key, stay", () => {
    const text = [
      `if (text.includes("${FIRST("PRIVATE KEY")}") && certificateContents.includes("${LAST("PRIVATE KEY")}")) {}`,
      [FIRST("PUBLIC KEY"), ...KEY_LINES, LAST("PUBLIC KEY")].join("\n"),
      `${FIRST("RSA PRIVATE KEY")}\n...\n${LAST("RSA PRIVATE KEY")}`,
    ].join("\n\n");
    expect(redactText(text)).toBe(text);
  });
});

const HIDDEN = "hunter22x!";
const LONG = letters(32);

describe("what a text gives to a secret's name goes", () => {
  test.each([
    `const password: string = "${HIDDEN}";`,
    `let password = '${HIDDEN}'`,
    `const password = \`${HIDDEN}\`;`,
    `var password string = "${HIDDEN}"`,
    `password := "${HIDDEN}"`,
    `password = b"${HIDDEN}"`,
    `let password: &str = "${HIDDEN}";`,
    `char password[32] = "${HIDDEN}";`,
    `#define PASSWORD "${HIDDEN}"`,
    `'password' => '${HIDDEN}',`,
    `:password => "${HIDDEN}"`,
    `env["DB_PASSWORD"] = "${HIDDEN}"`,
    `System.setProperty("db.password", "${HIDDEN}")`,
    `.setPassword("${HIDDEN}")`,
    `if (password === "${HIDDEN}") {`,
    `deploy --password ${HIDDEN} --yes`,
    `deploy --db-password=${HIDDEN} --yes`,
    `deploy --password "${HIDDEN}"`,
    `My password is ${HIDDEN}`,
    `my password is now ${HIDDEN}, do not share it`,
    `The password: ${HIDDEN}`,
    `**Password:** ${HIDDEN}`,
    `Always log in with the password ${HIDDEN} there.`,
    `I changed my password to ${HIDDEN}`,
    `Mein Passwort lautet ${HIDDEN}`,
    `Mi contraseña es ${HIDDEN}`,
    `密码是${HIDDEN}`,
    `パスワードは${HIDDEN}です。`,
    `<adminPassword>${HIDDEN}</adminPassword>`,
    `{"newPassword":"${HIDDEN}"}`,
    `password1: ${HIDDEN}`,
    `user: bob pass: ${HIDDEN}`,
    `machine a.example login bob password ${HIDDEN}`,
    `curl -u bob:${HIDDEN} https://a.example`,
    `CREATE USER bob IDENTIFIED BY '${HIDDEN}'`,
    `const password = process.env.DB_PASSWORD || "${HIDDEN}";`,
    `password: process.env.PASSWORD ?? '${HIDDEN}',`,
    `$password = getenv("DB_PASSWORD") ?: "${HIDDEN}";`,
    `PASSWORD = os.environ.get("DB_PASSWORD") or "${HIDDEN}"`,
    `os.getenv("DB_PASSWORD", "${HIDDEN}")`,
    `env('DB_PASSWORD', '${HIDDEN}')`,
    `- name: DB_PASSWORD\n  value: ${HIDDEN}`,
    `{"name": "DB_PASSWORD", "value": "${HIDDEN}"}`,
    `<add key="DbPassword" value="${HIDDEN}" />`,
    `docker login -u bob -p ${HIDDEN} registry.example`,
    `htpasswd -b users bob ${HIDDEN}`,
    `echo "bob:${HIDDEN}" | sudo chpasswd`,
    `let password: String? = "${HIDDEN}"`,
    `la mia password è ${HIDDEN}`,
    `redis-cli -h a.example -a ${HIDDEN} ping`,
    `mongosh -u bob -p ${HIDDEN}`,
    `sqlcmd -S a.example -U bob -P ${HIDDEN}`,
    `$pw = ConvertTo-SecureString "${HIDDEN}" -AsPlainText -Force`,
    `ConvertTo-SecureString -String ${HIDDEN} -AsPlainText`,
  ])("%s", (text) => expect(redactText(text)).not.toContain(HIDDEN));

  test.each([
    `Authorization: token ${LONG}`,
    `"Authorization": "ApiKey ${LONG}"`,
    `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${LONG}==;EndpointSuffix=b`,
    `Endpoint=sb://a/;SharedAccessKeyName=b;SharedAccessKey=${LONG}=`,
    `//registry.example/:_auth=${LONG}`,
    `//registry.example/:_authToken=${LONG}`,
    `signing_key = "${LONG}"`,
    `encryptionKey: "${LONG}"`,
    `secret-token = ${LONG}`,
    `deploy --token ${LONG}`,
    `The API key is ${LONG}.`,
    `https://a.example/?sig=${LONG}&se=1`,
    `https://api.telegram.org/bot987654321:${LONG}/getMe`,
    `https://api.telegram.org/file/bot987654321:${LONG}/photos/1.jpg`,
  ])("%s", (text) => expect(redactText(text)).not.toContain(LONG));

  test.each([
    "DB password: violets",
    "- name: DB_PASSWORD\n  value: violets",
    "root password: violets",
    "const pw = env.PW || 'violet77'",
  ])("%s, without a sign or a digit that would tell it from a word", (text) =>
    expect(redactText(text)).not.toMatch(/violet|4821/),
  );

  test.each([
    "const { password, token } = await readCredentials(config.secretName);",
    "password = os.environ['DB_PASSWORD']; token = get_token(user, scope2)",
    "interface Keys { privateKey: Uint8Array; signingKey: CryptoKey; ipns_private_key: Zeroizing<Vec<u8>> }",
    "return { privateKey: ed25519PrivateKey, publicKey: ed25519PublicKey, apiKey };",
    "The password is stored as a hash. Your password was reset; the password is wrong. A password will be e-mailed to you.",
    "The password must be 8-64 characters, hashed with argon2 or PBKDF2; password v2 comes later.",
    "deploy --password <password> --token TOKEN --secret $SECRET --api-key ${API_KEY}",
    "  --password string   the password of the database",
    "--- PASS: TestPasswordReset/expired_1 (0.00s)\n--- FAIL: TestTokens (0.01s)\n12 pass: 10 fail: 2",
    "commit 4f8f08f1c0a9b2d3e4f5a6b7c8d9e0f1a2b3c4d5 and object 0123456789abcdef0123456789abcdef",
    "request 3f2504e0-4f89-41d3-9a0c-0305e82c3301, order no. 4711-0815-2026, call toolu_01A2b3C4d5E6f7G8h9J0k1L2",
    "tokens: 4096, max_tokens=12345678, primary key: 42, cache key: user:42:profile, foreign_key = users.id2",
    '"integrity": "sha512-aB3dE5fG7haB3dE5fG7haB3dE5fG7haB3dE5fG7haB3dE5fG7h=="',
    "src/auth/password-reset2.ts, test/token_store_2.py and /etc/ssl/private/server1.key",
    "ssh -i ~/.ssh/ci-deploy-key root@10.0.0.12 uptime",
    "URLに埋め込まれたAccess Tokenは手動で削除する（Issue #54）。密码是必填的 123。",
    "Each project is identified by its path. Files are identified by hash2.",
    "PASSWORD_FILE=/run/secrets/db_password SECRET_NAME=prod/db TOKEN_URL=https://a.example/oauth2/token",
    'message: errors.password || "Please enter your password 1 more time", t("password", "Passwort")',
    "| field | password |\n|---|---|\n| type | string |\n| required | yes |\n| version | v1.2 |\n| mask | ******** |",
    "| a | b |\n| password | hunter22x! is no cell of such a column |",
    "name: password\ndescription: the value: of a password is hidden; docker run -p 8080:80 image; docker login -p $PASSWORD",
    "const token = cached || fallback; if (password or secret) return; 12 pass: 1000 of 1000 pass",
    'label: { password: "Password", token: "Token", confirm: "passwordAgain" }',
  ])("%s stays", (text) => expect(redactText(text)).toBe(text));
});

describe("keys that say what they are go", () => {
  test.each<[string, string]>([
    ["an app token of Slack", `xapp-1-A0123456789-1234567890123-${letters(40)}`],
    ["a runner's token of GitLab", `GR1348941${letters(20)}`],
    ["a bot of Discord", `MT${letters(24)}.GaB3d5.${letters(38)}`],
    ["a bot of Telegram", `123456789:AA${letters(33)}`],
    ["Databricks", `dapi${"0a1b2c3d".repeat(4)}`],
    ["Heroku", `HRKU-${letters(60)}`],
    ["Azure's applications", `aB38Q~${letters(34)}`],
    ["Terraform", `${letters(14)}.atlasv1.${letters(60)}`],
    ["a service that nobody listed", `zyx_live_${letters(40)}`],
    ["Linear", `lin_api_${letters(40)}`],
    ["Notion", `ntn_12345678901${letters(35)}`],
    ["Vault, which only secretlint knows", `hvs.${letters(95)}`],
    ["Tailscale, which only secretlint knows", `tskey-auth-${letters(12)}-${letters(24)}`],
    ["in the colour of a terminal", `\u001B[93msk-${letters(40)}\u001B[0m`],
  ])("%s", (_, secret) => {
    const core = secret.slice(-16, -5);
    expect(redactText(`Use ${secret} for it.`)).not.toContain(core);
    expect(redactText(JSON.stringify({ text: `Use ${secret} for it.` }))).not.toContain(core);
  });

  test("a text cannot switch the search off, with a comment that secretlint heeds", () => {
    const secret = `hvs.${letters(95)}`;
    const text = `/* secretlint-disable */\n${secret} // secretlint-disable-line\n`;
    expect(redactText(text)).not.toContain(secret);
  });

  test("of an address that is a key, the place that it leads to stays", () => {
    expect(redactText(`smtps://bob@mail.example:${HIDDEN}@smtp.mail.example:465`)).toBe(
      "smtps://[redacted: credentials]@smtp.mail.example:465",
    );
    expect(redactText(`https://discord.com/api/webhooks/123456789012345678/${letters(68)}`)).toBe(
      "https://discord.com/api/webhooks/123456789012345678/[redacted: chat token]",
    );
  });
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

test("objects under the name of several secrets, and of one that is laid out, hold none", () => {
  const secret = "[redacted: secret]";
  const given = {
    newPassword: "a",
    pass: "hunter",
    password1: "b",
    signingKey: "c",
    encryption_key: "d",
    passwords: { alice: "e", bob: 12_345 },
    secrets: [{ name: "DB", value: "f" }],
    password: { value: "g", hint: "the dog" },
    apiKeys: ["h"],
  };
  expect(redactMessage({ id: "m", role: "user", metadata: given, parts: [] }).metadata).toEqual({
    newPassword: secret,
    pass: secret,
    password1: secret,
    signingKey: secret,
    encryption_key: secret,
    passwords: { alice: secret, bob: secret },
    secrets: [{ name: "DB", value: secret }],
    password: { value: secret, hint: "the dog" },
    apiKeys: [secret],
  });
  const kept = {
    pass: 12,
    passes: ["a"],
    tokens: ["the", "cat"],
    passRate: "0.9",
    secrets: "inherit",
    credentials: "include",
    publicKey: "04ab",
    primaryKey: "id",
    compass: "north",
  };
  expect(redactMessage({ id: "m", role: "user", metadata: kept, parts: [] }).metadata).toEqual(kept);
});

test("what is assigned to a password is gone, in a shell, in JSON and in JSON within JSON, whatever it is", () => {
  const name = fc.constantFrom("password", "DB_PASSWORD", "db-passwd", "passphrase", "client_secret", "clientSecret");
  const value = fc.stringMatching(/^[\w.+!#^=:/@-][\w.+!#^=:/@ -]{2,38}[\w.+!#^=:/@-]$/);
  // A type, a word for a missing value, dots, or one character again and again.
  const isStandIn =
    /^(?:string|str|text|bytes?|number|boolean|bool|int|char|varchar|any|unknown|object|true|false|null|nil|none|undefined|required|optional|empty|hidden|redacted|yes|no|ok|password|passwd|pass|secret|token|x+$|n\/a)\b|^(.)\1+$|^[. ]+$/i;
  fc.assert(
    fc.property(name, value, fc.integer({ min: 0, max: 3 }), (key, hidden, depth) => {
      fc.pre(!key.includes(hidden) && !hidden.includes("://") && !isStandIn.test(hidden));
      let text = JSON.stringify({ a: 1, [key]: hidden, z: 2 });
      for (let layer = 0; layer < depth; layer++) text = JSON.stringify({ output: text });
      expect(redactText(text)).not.toContain(`"${hidden}`);
      expect(redactText(text)).toContain("[redacted: secret]");
      if (!hidden.includes(" ") && !/^\w+(?:\.|::)[a-z_]/i.test(hidden)) {
        expect(redactText(`export ${key}=${hidden}\n`)).toBe(`export ${key}=[redacted: secret]\n`);
      }
    }),
  );
});

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
      "my password is ",
      "password: [",
      "<password>",
      "--token ",
      "_authToken=",
      "identified by ",
      "IDENTIFIED BY ",
      "hunter22x!",
      FIRST("PRIVATE KEY"),
      LAST("PRIVATE KEY"),
    ),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (words) => {
      const once = redactText(words.join(" "));
      expect(redactText(once)).toBe(once);
    }),
  );
});

test.each([
  "eyJ",
  "eyJ-",
  "eyJa.",
  "sk-",
  "xoxb-a-",
  "-----BEGIN PRIVATE KEY-----",
  "-----BEGIN PRIVATE KEY-----\n1 | aB3dE5fG7haB3dE5fG7h\n",
  "-----END PRIVATE KEY-----",
  "Private-Lines: 8\n",
  "://a:",
  "://",
  "://a:b@c",
  "password=",
  'password="',
  "password='`",
  'password\\\\\\"',
  "password ",
  "password for the ",
  "my password is ",
  "password: A<",
  "password A",
  "password,\n",
  "password </",
  "passphrase is a b c ",
  "password: [",
  'passwords: ["a", ',
  "<password>",
  "--password ",
  "-u a:",
  "token: ",
  "token=a ",
  "a",
  "aA1_",
  "Bearer ",
  "Authorization: ",
  "ghp_",
  "pwd=\\",
  "cookie: a",
  "a.password: b",
  "\\",
  "- \n",
  "SG.",
  "SG.a.",
  "hvs.",
  "login a password ",
  "mysql -p",
  "docker login ",
  "docker login -p ",
  "redis-cli ",
  "ConvertTo-SecureString -a ",
  "api.telegram.org/bot1",
  "htpasswd -b a ",
  '"a:',
  'password || "',
  'getenv("PASSWORD", "',
  "password: Some(",
  "name: password\n",
  'variable "password" {\n',
  'variable "password" {\na\n',
  "| password |\n| a1 |\n",
  "| password ",
  "|",
  "|`",
  "[redacted: secret]",
])("time stays in proportion to the text: %j", (word) => {
  expectLinear(
    (size) => word.repeat(Math.ceil(size / word.length)),
    (text) => redactText(text),
    80_000,
  );
});

function partWithSecrets(size: number): UIMessage["parts"][number] {
  return {
    type: "data-x",
    data: Array.from({ length: size }, (_, n) => ({ password: `aB3dE5fG7h${n}`, note: `token: aB3dE5fG7h${n}` })),
  };
}

test("a part with many secrets in many members is read once", () => {
  expectLinear(partWithSecrets, (each) => redactMessage({ id: "m", role: "user", parts: [each] }), 1_000);
});

test("a number of four digits or more under the name of a pin goes, and what else is called so stays", () => {
  const data = { pin: 4821, simPin: "90213", gpio: { pin: 13, pins: ["A0", "A1"] }, pinned: 2019, pin_to: "top" };
  const { parts } = redactMessage({ id: "m", role: "user", parts: [{ type: "data-form", data }] });
  expect(parts).toEqual([
    {
      type: "data-form",
      data: { ...data, pin: "[redacted: secret]", simPin: "[redacted: secret]" },
    },
  ]);
});
