/** Finds credentials by the places where protocols and commands put them, such as addresses, headers, cookies, options and `.netrc`. */
import { lastGroup } from "./shapes.ts";
import type { Finding } from "./finding.ts";

/** A variable or a placeholder is no secret, as in `$TOKEN`, `{{ token }}` or `<token>`. */
const REAL = String.raw`(?![[<{($%]|\*{3})`;

const BY = String.raw`(?:WITH\s{1,3}\S{1,60}\s{1,3})?(?:BY|AS)\s{1,3}(?:PASSWORD\s{1,3})?`;

const PLACES: readonly (readonly [kind: string, place: RegExp])[] = [
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

export function* findCredentials(text: string): Iterable<Finding> {
  for (const [kind, place] of PLACES) {
    for (const match of text.matchAll(place)) yield lastGroup(match, kind);
  }
}
