/** Names of secrets in a text and in the members of an object. */

/** A value under one of these names is a secret. */
export const STRONG = [
  "pass(?:word|wd|phrase|code)",
  "pwd",
  "client[_. -]?secret",
  "_auth",
  "(?:seed|recovery|mnemonic)[_ -]?phrase",
  // Names in other languages.
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

/** Kinds of key that are secret. Other keys are columns, caches, objects and letters on a keyboard. */
const OF_KEYS =
  "access|account|admin|api|app|auth|client|consumer|crypto|decrypt(?:ion)?|deploy|encrypt(?:ion)?|hmac|jwt|licen[cs]e|" +
  "master|private|secret|security|server|service|session|shared|sign(?:ing|ature)?|ssh|storage|subscription|webhook";

/** Names that also stand for a count, a word of a grammar or a passed test. Their value must look like a secret. */
export const WEAK = [
  `(?:${OF_KEYS})[_. -]?key`,
  "secret",
  "token",
  "creds?",
  "credentials?",
  // Short for a password, but also for a passed test and a pulse.
  "pass",
  "pw",
  "비번",
  "암호",
].join("|");

/** Any other key. Its value is a secret only when nobody would write it by hand. */
export const FAINT = String.raw`(?<!public[_. -]?)key|oauth2?-bearer|auth`;

/** A number that opens a card, a telephone or a door. A pin of a chip has fewer digits. */
export const PIN = "pin";
export const PIN_VALUE = /^\d{4,12}$/;

/** A suffix that still belongs to the name, as in `password1`, `passwords`, `TOKEN_PROD`. */
export const OF_A_NAME = String.raw`s?(?:[_-]?\d{1,2})?(?:_(?:prod(?:uction)?|dev(?:elopment)?|test(?:ing)?|stag(?:e|ing)|live|old|new|main|root|admin|default|value))?`;
