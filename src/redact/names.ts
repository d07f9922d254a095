/** What a secret is called: in a text, and as a member of an object. */

/** Whatever these name is a secret. */
export const STRONG = [
  "pass(?:word|wd|phrase|code)",
  "pwd",
  "client[_. -]?secret",
  "_auth",
  "(?:seed|recovery|mnemonic)[_ -]?phrase",
  // As people call it elsewhere.
  "passwort",
  "kennwort",
  "mot de passe",
  "contrase(?:ñ|n)a",
  "senha",
  "пароль",
  "密码",
  "密碼",
  "口令",
  "パスワード",
  "비밀번호",
  "패스워드",
].join("|");

/** What kinds of key are kept secret. Other keys are columns, caches, objects and letters on a keyboard. */
const OF_KEYS =
  "access|account|admin|api|app|auth|client|consumer|crypto|decrypt(?:ion)?|deploy|encrypt(?:ion)?|hmac|jwt|licen[cs]e|" +
  "master|private|secret|security|server|service|session|shared|sign(?:ing|ature)?|ssh|storage|subscription|webhook";

/** These name other things as well: a count, a word of a grammar, a test that passed. The value must look like a secret. */
export const WEAK = [
  `(?:${OF_KEYS})[_. -]?key`,
  "secret",
  "token",
  "creds?",
  "credentials?",
  // Short for a password, and for a test that passed and a pulse.
  "pass",
  "pw",
  "비번",
  "암호",
].join("|");

/** Any other key. Only a value that nobody would write by hand is a secret there. */
export const FAINT = String.raw`(?<!public[_. -]?)key|oauth2?-bearer|auth`;

/** A number that opens a card, a telephone or a door. A pin of a chip has fewer digits. */
export const PIN = "pin";
export const PIN_VALUE = /^\d{4,12}$/;

/** Behind the name, and still of it: `password1`, `passwords`, `TOKEN_PROD`. */
export const OF_A_NAME = String.raw`s?(?:[_-]?\d{1,2})?(?:_(?:prod(?:uction)?|dev(?:elopment)?|test(?:ing)?|stag(?:e|ing)|live|old|new|main|root|admin|default|value))?`;
