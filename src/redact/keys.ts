/**
 * Finds keys by the prefix, the alphabet and the length of a service's tokens, and credentials by the places where protocols and commands put
 * them, such as addresses, headers, cookies, options and `.netrc`.
 *
 * secretlint knows many keys exactly (secretlint.ts). This file has those that it lacks. It also matches the most common keys of
 * conversations more widely, for example a cut key or one that has grown longer. Every repetition is bounded or ends its pattern, so each
 * pattern looks at a character a bounded number of times.
 */

/** A secret in a text, from `start` up to but not including `end`. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** The start of a word, also after a terminal's colour code. */
const START = String.raw`(?<!\w(?<!(?:\x1B|\\u001[bB]|\\x1[bB]|\\033)\[[\d;]{0,8}m))`;

const KEYS: readonly (readonly [kind: string, keys: readonly string[]])[] = [
  [
    "cloud key",
    [
      String.raw`(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?!\w)|ABSK[\w+/=]{60,}|amzn\.mws\.[\w-]{36}`,
      String.raw`AIza[\w-]{35}(?![\w-])|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1\/\/0[\w-]{30,}`,
      String.raw`do[opr]_v1_[0-9a-f]{40,}|LTAI[0-9A-Za-z]{12,24}(?!\w)|HRKU-[\w-]{36,}|fo1_[\w-]{40,}|fm2_[\w+/]{80,}={0,3}|pul-[0-9a-f]{40}`,
      String.raw`AQVN[\w-]{35,38}(?![\w-])|t1\.[A-Z0-9a-z_-]{20,}={0,2}\.[\w-]{86}={0,2}|v1\.0-[0-9a-f]{24}-[0-9a-f]{146}`,
      // Azure's applications.
      String.raw`[\w.-]{3}\dQ~[\w~.-]{31,34}`,
      String.raw`[0-9A-Za-z]{14}\.atlasv1\.[\w=-]{40,}|SWMTKN-1-[\w-]{50,}`,
    ],
  ],
  [
    "repository token",
    [
      String.raw`(?:gh[opsru]_|github_pat_)[\w-]{20,}`,
      String.raw`(?:gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|oas)-|GR1348941)[\w.-]{20,}|AT(?:ATT|CTT|BB)3?[\w-]{20,}={0,2}`,
      String.raw`sq[upa]_[0-9a-f]{40}|sgp_\w{40,}`,
    ],
  ],
  [
    "registry token",
    [
      String.raw`npm_[0-9A-Za-z]{30,}|pypi-[\w-]{40,}|rubygems_[0-9a-f]{40,}|oy2[a-z0-9]{43}(?!\w)|CLOJARS_[0-9a-z]{60}`,
      String.raw`AKCp[0-9A-Za-z]{60,}|cmVmd[0-9A-Za-z]{59,}|dckr_[op]at_[\w-]{27,}`,
    ],
  ],
  [
    "model key",
    [
      // Words also begin like this, so the key must contain a digit.
      String.raw`sk-(?=[\w-]{0,60}\d)[\w-]{20,}`,
      String.raw`hf_[0-9A-Za-z]{30,}|r8_[0-9A-Za-z]{30,}|(?:gsk_|xai-|pplx-|tvly-|fw_|llx-|tgp_v1_)[\w-]{24,}`,
      String.raw`api_org_[0-9A-Za-z]{30,}`,
    ],
  ],
  [
    "payment key",
    [
      String.raw`(?:sk|rk|whsec)_(?:live_|test_)?(?=[A-Za-z]{0,60}\d)[0-9A-Za-z]{20,}`,
      String.raw`sq0(?:atp|csp|idp)-[\w-]{22,}|EAAA[\w-]{50,}|FLWSECK[\w-]{12,}|EZ[AT]K[0-9A-Za-z]{54}`,
      String.raw`access_token\$(?:production|sandbox)\$\w{16,17}\$\w{32}`,
    ],
  ],
  [
    "mail key",
    [
      String.raw`SG\.[\w-]{16,}\.[\w-]{16,}|key-[0-9a-f]{32}(?!\w)|xkeysib-[0-9a-f-]{40,}\w{0,20}`,
      String.raw`[0-9A-Za-z]{32}-us\d{1,2}(?!\w)|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?!\w)`,
    ],
  ],
  [
    "chat token",
    [
      String.raw`x(?:ox[a-z]|app|wfp)-[\w.-]{10,}`,
      String.raw`mfa\.[\w-]{60,}|[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w.-])`,
      String.raw`\d{8,10}:A[A-Za-z][\w-]{32,34}(?![\w-])`,
      String.raw`EAA[A-Za-z0-9]{60,}|IGQV[\w-]{60,}`,
    ],
  ],
  // 1Password's accounts, as its emergency kit prints them.
  ["vault key", [String.raw`A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?!\w)`]],
  ["phone key", [String.raw`SK[0-9a-fA-F]{32}(?!\w)`]],
  [
    "data key",
    [
      String.raw`dapi[0-9a-f]{32}(?:-\d)?(?!\w)|pscale_(?:tkn|oauth|pw)_[\w.=-]{30,}|sb[ps]_(?:v0_)?[0-9a-f]{40,}|sb_secret_(?=[A-Za-z_-]{0,40}\d)[\w-]{20,}`,
      String.raw`sl\.(?:u\.|B)[\w=-]{60,}|fio-u-[\w=-]{60,}`,
    ],
  ],
  [
    "service key",
    [
      String.raw`PMA[KT]-[0-9A-Za-z-]{26,}|NR(?:AK|BR|II|JS|RA)-[\w-]{19,27}|\w{36}NRAL(?!\w)`,
      String.raw`dp\.(?:pt|st|ct|sa)\.[\w.]{40,}|dt0[a-z]\d{2}\.[\w.]{60,}|sntry[su]_[\w+/=.-]{40,}|eyJrIjoi[\w+/=]{40,}`,
      String.raw`pat[0-9A-Za-z]{14}\.[0-9a-f]{64}|[12]\/\d{15,19}(?:\/\d{15,19})?:[0-9a-f]{32}(?!\w)|re_[0-9A-Za-z]{8}_[0-9A-Za-z]{20,}`,
      String.raw`lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|sha256~[\w-]{43}(?![\w-])|shippo_(?:live|test)_[0-9a-f]{40}|tfp_[\w.=-]{40,}`,
      String.raw`pat\.[\w-]{20,24}\.[0-9a-f]{24}\.[0-9A-Za-z]{20}|rnd_[0-9A-Za-z]{28,}|aio_[0-9A-Za-z]{28}(?!\w)|s-s4t2(?:ud|af)-[0-9a-f]{64}`,
      String.raw`dnkey-[\w-]{40,}|API-[A-Z0-9]{26}(?!\w)|duffel_(?:test|live)_[\w=-]{40,}|p8e-[0-9a-z]{32}(?!\w)|rdme_[0-9a-z]{60,}`,
    ],
  ],
  ["private key", [String.raw`AGE-SECRET-KEY-1[0-9A-Z]{58}`]],
  // Services that nobody listed. The key has a short name and then more letters and digits than an id.
  [
    "token",
    [
      String.raw`(?!sha\d)[A-Za-z]{2,10}(?:[_-][A-Za-z0-9]{1,8}){0,2}[_-]` +
        String.raw`(?=[A-Za-z]{0,40}\d)(?=[a-z0-9]{0,40}[A-Z])(?=[A-Z0-9]{0,40}[a-z])[A-Za-z0-9]{32,}(?!\w)`,
    ],
  ],
];

/** Addresses that give access by themselves. The match ends with the secret. */
const ADDRESSES: readonly Shape[] = [
  ["chat token", /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[\w/+]{10,200})/g],
  ["chat token", /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{10,20}\/(?<secret>[\w-]{20,})/g],
  ["chat token", /api\.telegram\.org\/(?:file\/)?bot(?<secret>\d{5,12}:[\w-]{20,80})/g],
  ["chat token", /webhook\.office\.com\/webhookb2\/(?<secret>[\w@/-]{20,300})/g],
  ["cloud key", /[?&](?:sig|X-Amz-Signature|X-Goog-Signature|X-Amz-Security-Token)=(?<secret>[\w%+/=-]{20,})/g],
];

type Shape = readonly [kind: string, shape: RegExp];

/** Does not match within another token, which would be read to its end from each possible start. */
const SIGNED_TOKEN: Shape = ["signed token", /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]{8,})?/g];

/** A variable or a placeholder is no secret, as in `$TOKEN`, `{{ token }}` or `<token>`. */
const REAL = String.raw`(?![[<{($%]|\*{3})`;

const BY = String.raw`(?:WITH\s{1,3}\S{1,60}\s{1,3})?(?:BY|AS)\s{1,3}(?:PASSWORD\s{1,3})?`;

const PLACES: readonly Shape[] = [
  // A password may hold a slash or an at sign. A port is no password.
  ["credentials", /:\/\/(?<secret>[^\s/:?#"'<>\\]{0,100}:(?!\d{1,5}[/?#]|[${<])[^\s"'<>\\]{1,200})(?=@)/g],
  // A token alone before a host. It is long and no name.
  ["credentials", /:\/\/(?=[^@\s/]{0,100}\d)(?<secret>[\w.~-]{20,200})(?=@[\w-])/g],
  [
    "credentials",
    /\b(?:[Bb]earer|[Bb]asic|[Tt]oken|ApiKey|Bot|BEARER|BASIC) {1,3}(?<secret>(?=\S{0,60}(?:\d|[a-z][A-Z]))[\w.~+/-]{16,}={0,2})/g,
  ],
  [
    "credentials",
    new RegExp(
      String.raw`\bauthorization\\{0,7}["'\x60]?\s{0,3}[:=]\s{0,3}\\{0,7}["'\x60]?(?:[a-z][\w-]{2,20} {1,3})?` +
        String.raw`(?<secret>${REAL}(?=[^\s"'\x60,;\\]{0,60}\d)[^\s"'\x60,;\\]{8,2000})`,
      "gi",
    ),
  ],
  // `curl -u name:password`. The user and group of a container are two numbers and no password.
  ["credentials", /(?:\s-u|--user|--proxy-user)[ =]["']?[^\s:"'/$]{1,100}:(?<secret>(?!\d+\b)[^\s"'$]{3,200})/g],
  ["credentials", /\blogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4}(?<secret>\S{1,200})/g],
  [
    "credentials",
    /\b(?:sshpass\s{1,3}-p\s{0,3}|mysql(?:dump|admin)?\s[^\n]{0,100}?\s-p)["']?(?<secret>[^\s"'$]{3,200})/g,
  ],
  // Other programs whose short option is a password. One `-p` is a port elsewhere, so the program is named.
  [
    "credentials",
    new RegExp(
      String.raw`\b(?:(?:docker|podman|nerdctl|skopeo|buildah|oras|crane|helm|az|oc|cf)\s[^\n|;&]{0,60}?\blogin\b[^\n|;&]{0,100}?\s-p` +
        String.raw`|redis-cli\b[^\n|;&]{0,100}?\s-a|(?:mongo(?:sh|dump|restore|import|export)?|cqlsh|rabbitmqadmin)\s[^\n|;&]{0,100}?\s-p` +
        String.raw`|(?:sqlcmd|bcp|isql|osql|unzip|zip)\s[^\n|;&]{0,100}?\s-P|ldap(?:search|add|modify|delete|whoami)\s[^\n|;&]{0,100}?\s-w)` +
        String.raw`[ =]{0,3}["']?(?<secret>${REAL}(?!\d{1,5}(?:\s|$))[^\s"'$-][^\s"'$]{2,200})`,
      "g",
    ),
  ],
  [
    "credentials",
    /\bhtpasswd\s{1,3}-\w{0,5}b\w{0,5}\s{1,3}[^\s$]{1,100}\s{1,3}[^\s$]{1,60}\s{1,3}["']?(?<secret>[^\s"'$-][^\s"'$]{2,200})/g,
  ],
  ["credentials", /["'][\w.-]{1,60}:(?<secret>[^\s"'$:]{3,200})(?=["'] {0,3}\| {0,3}(?:sudo )?chpasswd)/g],
  // PowerShell.
  [
    "credentials",
    new RegExp(
      String.raw`\bConvertTo-SecureString\s{1,3}(?:-\w{1,16}\s{1,3}){0,3}["']?(?<secret>${REAL}[^\s"'$-][^\s"'$]{2,200})`,
      "gi",
    ),
  ],
  // SQL. In lower case and without quotes it would be a sentence, such as "identified by its path".
  ["credentials", new RegExp(String.raw`\bIDENTIFIED ${BY}["']?(?<secret>${REAL}[^\s"'?;)]{2,200})`, "g")],
  ["credentials", new RegExp(String.raw`\bidentified ${BY}["'](?<secret>${REAL}[^\s"'?;)]{2,200})`, "gi")],
  [
    "cookie",
    new RegExp(
      String.raw`\b(?:set-)?cookie\\{0,7}["']?\s{0,3}[:=]\s{0,3}\\{0,7}["']?` +
        String.raw`(?<secret>(?=[\w.!#$%*+^|~-]{1,100}=)[^\n"'\\]{3,4000})`,
      "gi",
    ),
  ],
];

const SHAPES: readonly Shape[] = [
  SIGNED_TOKEN,
  ...KEYS.flatMap(([kind, keys]) => keys.map((key): Shape => [kind, new RegExp(`${START}(?:${key})`, "g")])),
  ...ADDRESSES,
  ...PLACES,
];

/** A finding is all of a match, or its last group `secret`. */
export function* findKeys(text: string): Iterable<Finding> {
  for (const [kind, shape] of SHAPES) {
    for (const match of text.matchAll(shape)) {
      const end = match.index + match[0].length;
      yield { start: end - (match.groups?.["secret"] ?? match[0]).length, end, kind };
    }
  }
}
