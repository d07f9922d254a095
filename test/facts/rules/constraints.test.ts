/** Names and rules are found in a text as they are written, in linear time, and none is invented. */
import { existsSync, readFileSync } from "node:fs";
import { array, assert, constantFrom, oneof, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { expectLinear } from "../../growth.ts";
import { extractIdentifiers, type IdentifierKind } from "../../../bench/policies/identifiers.ts";
import { extractConstraints } from "../../../src/facts/rules/constraints.ts";
import { splitSentences } from "../../../src/steps/text/sentences.ts";

const transcripts = process.env["PALIMPSEST_TRANSCRIPTS"] ?? "../shared/transcripts";
const piSession = `${transcripts}/pi-coding-session.jsonl`;

function values(text: string, kind: IdentifierKind): string[] {
  return extractIdentifiers(text)
    .filter((each) => each.kind === kind)
    .map((each) => each.value);
}

describe("identifiers are found by kind, as written", () => {
  it.each<[IdentifierKind, string, string[]]>([
    [
      "path",
      "Read src/core/main.ts:120:4, then `./a/b.test.ts` and /etc/hosts.",
      ["src/core/main.ts", "./a/b.test.ts", "/etc/hosts"],
    ],
    ["path", "see @packages/app/README.md (and package.json)", ["packages/app/README.md", "package.json"]],
    ["path", "print/json and/or yes/no, TUI/agent, Node.js, e.g. this", []],
    ["url", "Docs: https://example.com/a?b=1#c, thanks.", ["https://example.com/a?b=1#c"]],
    [
      "id",
      "Reservation ZFA04Y for mia_li_3668, flight HAT136, paid by credit_card_4421486.",
      ["ZFA04Y", "mia_li_3668", "HAT136", "credit_card_4421486"],
    ],
    [
      "id",
      "Commit 1507f8b fixes #151; run 0b7c9f8e-3c1d-4e5f-8a9b-0c1d2e3f4a5b.",
      ["1507f8b", "#151", "0b7c9f8e-3c1d-4e5f-8a9b-0c1d2e3f4a5b"],
    ],
    ["id", "UTF-8 over HTTP2 with SHA256, a defaced facade, step1 of 3", []],
    ["date", "from 2024-05-20 at 11:30 or 11am", ["2024-05-20", "11:30", "11am"]],
    [
      "quantity",
      "250 ms, 1.5 GB, $1,250 and 99% of 12 tests in 30s",
      ["250 ms", "1.5 GB", "$1,250", "99%", "12 tests", "30s"],
    ],
    ["version", "typescript@7.0.2 with 1.2.3-beta.1 on v24", ["typescript@7.0.2", "1.2.3-beta.1", "v24"]],
    ["error", "TS2345 then ENOENT, a TypeError: and exit code 137", ["TS2345", "ENOENT", "TypeError", "code 137"]],
    ["env", "set API_BASE_URL and $HOME_DIR", ["API_BASE_URL", "$HOME_DIR"]],
    ["symbol", "call `store.put()` or `AgentSession`, not `the` word", ["store.put()", "AgentSession"]],
    ["command", "run `npm run check -- --fix`\n$ git status\n", ["npm run check -- --fix", "git status"]],
  ])("%s in %j", (kind, text, expected) => {
    expect(values(text, kind)).toEqual(expected);
  });

  it("counts repeats and keeps the order of first appearance", () => {
    expect(extractIdentifiers("b.ts a.ts b.ts")).toEqual([
      { kind: "path", value: "b.ts", count: 2 },
      { kind: "path", value: "a.ts", count: 1 },
    ]);
  });
});

describe("rules of the user are found, word for word", () => {
  it.each([
    "Never push to main.",
    "Please don't touch the billing module!",
    "Always run the tests before you commit.",
    "I do not want to fly before 11am EST.",
    "You must use the larger certificate first.",
    "Only use direct flights.",
    "I'd prefer the cheapest economy option.",
    "Use pnpm instead of npm.",
    "Make sure the old code keeps working.",
    "Keep it under 200 lines.",
    "From now on, answer in German.",
    "I'm willing to pay up to $600.",
    "look it up if you need to (don't read the full file!)",
    "import the customers but never touch the billing table",
    "return the totals and never touch the billing table",
    "at no point may you touch the billing table",
    "Hands off the billing table!",
    "Leave the billing table alone.",
    "Stop touching the billing table.",
    "Touching the billing table is prohibited.",
    "The billing table is forbidden.",
    "The billing table is off limits.",
    "The billing table is read-only.",
    "Nobody touches the billing table.",
    "You shall not touch the billing table.",
    "You are not to touch the billing table.",
    "Please refrain from touching the billing table.",
    "do  not touch the billing table",
    "No changes to the billing table, please.",
    "Never touch the billing table => ask me first",
    "<b>Never touch the billing table</b>",
    "(see above, never touch the billing table);",
    "Fass die billing-Tabelle nicht an.",
    "Du darfst die Tabelle niemals anfassen.",
    "Bitte keine Dateien löschen.",
    "Ne touche jamais à la table billing.",
    "Ne pas toucher à la table billing.",
    "N'efface pas les données.",
    "No toques la tabla billing.",
    "Nunca borres la tabla billing.",
    "Non toccare mai la tabella billing.",
    "Non modificare la tabella billing.",
    "Nunca apague a tabela billing.",
    "Não toque na tabela billing.",
    "Warning: never touch the billing table",
    "Error pages must not show a stack.",
    "INFO must never be logged.",
    "We never need the billing table.",
    "The billing table must never be touched.",
    "I want it finished before 5pm.",
    "Retry after 5 minutes.",
    "Do it without any new dependency.",
    "pls dont push to main",
    "Seriously don't touch billing",
    "I said don't touch billing",
    "Whatever you do don't touch billing",
    "When you deploy don't touch billing",
    "don't you dare touch billing",
    "Don't look at the billing table.",
    "Do not have the bot send mails",
    "No touching the billing table, ok?",
    "Can you please not touch the billing table?",
    "Ask me before you deploy.",
    "Please check with me first before any deploy.",
    "Wait for my OK before the deploy.",
    "Ask before deleting.",
    "Bitte nichts an der Tabelle ändern.",
    "Sende nie eine Mail an Kunden.",
    "Überweise kein Geld.",
    "Ruf niemanden an.",
    "No tocar la tabla billing.",
    "Por favor, no modificar nada.",
    "No envíes correos a clientes.",
    "No compres nada.",
    "Surtout, ne déploie rien.",
    "Non modificate la tabella billing.",
    "Não envie e-mails.",
    "不能修改账单表",
    "千万不能动账单表",
    "pushしないでほしい",
    "メールを送らないようお願いします",
    "不要碰账单表",
    "禁止修改 billing 表",
    "绝对不要动 billing 表",
    "请勿删除数据库",
    "billingテーブルに触らないでください",
    "絶対に本番を変更しないで",
    "削除してはいけません",
    "Touche pas à la table billing.",
    "Surtout touchez pas la base.",
    "Pas de déploiement le vendredi.",
    "Pas touche à la prod !",
    "Lass die Finger von der billing-Tabelle.",
    "Bitte Finger davon lassen.",
    "Change everything except the billing table.",
    "You may edit anything but the lock file.",
    "Delete all tables except billing.",
    "Don't get billing involved.",
    "Don't get anywhere near the billing table.",
    "결제 테이블은 건드리지 마세요.",
    "main에 푸시하지마.",
    "금요일 배포 금지",
    "테이블을 삭제하면 안 됩니다.",
    "Не трогай таблицу billing.",
    "Пожалуйста, не удаляйте данные.",
    "Никогда не пушь в main.",
    "Нельзя менять прод.",
    "Ни в коем случае не деплой в пятницу.",
    "لا تلمس جدول الفواتير.",
    "ممنوع حذف البيانات.",
    "Raak de billing-tabel niet aan.",
    "Nooit naar main pushen.",
    "Geen deploys op vrijdag.",
    "Je mag de database niet wijzigen.",
    "Nie dotykaj tabeli billing.",
    "Proszę nie usuwać danych.",
    "Nigdy nie wdrażaj w piątek.",
    "Nie wolno zmieniać bazy.",
    "No direct commits to main.",
    "No deploys on Friday.",
    "Main is frozen until Friday.",
    "The schema stays locked till we ship.",
    "No one but me deploys.",
    "Nobody except the leads may approve refunds.",
    "Do not use wide columns (e.g. Text) or triggers.",
    "You cannot use the network.",
    "You aren't allowed to use sudo.",
    "Customers can't be contacted by mail.",
    "Nothing gets merged without my approval.",
    "Do NOT, under any circumstances, run rm -rf.",
    "Please keep the public API unchanged.",
    "Hold off on deploying.",
    "Don't forget to branch off main.",
    "Ohne Rücksprache wird nichts gelöscht.",
    "Keine Force-Pushes!",
    "Kein npm, nur pnpm.",
    "Ich will nicht, dass du Tests löschst.",
    "Committe nichts ohne Freigabe.",
    "Interdiction de modifier la config.",
    "Je ne veux pas que tu modifies l'API.",
    "Sin mi aprobación no se despliega nada.",
    "No se te ocurra borrar la tabla.",
    "Nada de commits directos en main.",
    "Que nadie modifique la base.",
    "Niente push su main.",
    "Non voglio che tu cambi l'API.",
    "Não quero que você altere a API.",
    "Não faça commits na main.",
    "Blijf van de server af.",
    "Ik wil niet dat je klanten belt.",
    "Ничего не удаляй без моего согласия.",
    "Ты не должен менять базу.",
    "Никаких новых зависимостей.",
    "不可以推送到main分支",
    "既存のスタイルを変えないこと。",
    "mainには触れないように。",
    "**Don't** touch main.",
    "_Never_ touch main.",
    "⚠️ Don't touch main",
    "✋🏼 Do not touch main",
    "Donʼt touch main.",
    "Don´t touch main.",
    "**Ne touche pas** à main.",
    "**Nicht** auf main pushen!",
    "<instructions>Never touch main.</instructions>",
    "Don't, under any circumstance, wire money.",
    "Would you mind not touching the lockfile?",
    "Steer clear of the legacy folder.",
    "Leave the tests be.",
    "Tell nobody about the merger.",
    "Wire no money.",
    "Every change needs my OK.",
    "I need to sign off on every deploy.",
    "Run everything past me before you send it.",
    "Hold the deploy until I say so.",
    "I forbid any wire.",
    "It is not OK to wire money.",
    "Wiring money is out of the question.",
    "Cease sending mails.",
    "No external API calls.",
    "Absolutely no emojis",
    "No force push please",
    "Nothing outside src/ may change.",
    "Use tabs not spaces.",
    "We use pnpm, not npm.",
    "Reply in French only.",
    "Limit your changes to src/.",
    "Stay within src/.",
    "max 500 euros",
    "Answer in French from here on.",
    "Keep this between us.",
    "Auf main wird nicht gepusht.",
    "Verändere nichts an main.",
    "Sag niemandem davon.",
    "Verzichte auf Emojis.",
    "Bitte lass das Schema unverändert.",
    "Könntest du bitte nichts löschen?",
    "Frag mich bevor du etwas löschst.",
    "Verwijder niets.",
    "Je mag niets wijzigen.",
    "Faut pas toucher à main.",
    "Tu n'as pas le droit de supprimer.",
    "No puedes borrar nada.",
    "No gastes más de 500.",
    "No compartas las claves.",
    "Non lo cancellare.",
    "Non dirlo a nessuno.",
    "Não podes apagar nada.",
    "nao apague nada",
    "Nie pisz do klientów.",
    "Nie możesz usuwać wierszy.",
    "Таблицу не трогать!",
    "Прошу не трогать main.",
    "لا يجوز حذف الجدول.",
    "不可修改表结构。",
    "你别碰main分支。",
    "変更不可。",
    "消しちゃだめ。",
    "삭제하지 않도록 해 주세요.",
  ])("%s", (rule) => {
    expect(extractConstraints(`Hello there. ${rule}\nThanks a lot.`)).toEqual([rule]);
  });

  it.each([
    "I don't know why.",
    "It never worked for me.",
    "The build always fails here.",
    "I must have left it at home.",
    "Why must it be so slow?",
    "Don't worry about it.",
    "Do you always do that?",
    "I'll make sure to find my user ID.",
    "const x = () => never();",
    "    at Object.must (node:internal/modules:12:3)",
    "import { never } from './must-not.ts'",
    "return always(must, never);",
    "The tests stop working here.",
    "We left for lunch at no. 12.",
    "There is no use in that.",
    "No changes since yesterday.",
    "No new messages yet.",
    "No edits were made.",
    "No deploys are running.",
    "The screen is frozen for a second.",
    "No one but Tom replied.",
    "Das hat nie funktioniert.",
    "Je ne sais pas pourquoi.",
    "El archivo no existe aquí.",
    "Non funziona ancora bene.",
    "O teste não passa ainda.",
    "> Never touch the billing table.",
    ">Never touch the billing table.",
    "TypeError: x must not be null",
    "com.acme.BadStateException: x must not be null",
    "fatal: refs must not be empty",
    "2026-01-01 12:00 ERROR must not be null: retry",
    "[2026-01-01T12:00:01Z] worker info x must not be null",
    "We never touched the billing table before.",
    "I was never told about it.",
    "It crashed after 5 retries.",
    "The price went up to 40 euros.",
    "Deploy 3 finished without any problem at all.",
    "The tests don't pass on main.",
    "Seriously don't know why.",
    "Honestly don't see it.",
    "When you run it the tests don't pass.",
    "Don't have the time today.",
    "They don't look right.",
    "Could you not find it?",
    "Then we don't go back, right?",
    "I wanted to ask first what it does.",
    "Bob asked me before he left.",
    "Wait for the build.",
    "Keine Ahnung, warum die Tests fehlen.",
    "Bitte sag mir, wie die Tests laufen.",
    "Es kommt kein Geld an.",
    "No puedes entrar todavía.",
    "No other user can reserve it.",
    "There is no reserve in the budget.",
    "No ayer, hoy por la tarde.",
    "Il n'a rien trouvé dans le fichier.",
    "Non avete capito il problema.",
    "Não quer abrir o arquivo.",
    "我不能修改密码",
    "登录不能用",
    "エラーが出ないようにしました",
    "我不知道为什么会这样",
    "テストが動きません",
    "Marche pas chez moi, je crois.",
    "Pas de problème, merci.",
    "Pas de chance cette fois.",
    "Même pas peur du refactoring.",
    "Everything except the login works.",
    "All tests except two pass.",
    "The migration was anything but easy.",
    "Don't get the idea behind it.",
    "빌드가 안 돼요.",
    "마지막 커밋을 보여줘.",
    "Не работает на сервере.",
    "Не очень понятно.",
    "Не нашли ошибку в логах.",
    "لا تعمل الاختبارات.",
    "لا توجد مشكلة هنا.",
    "Tests slagen niet op main.",
    "Dat werkt nog niet.",
    "Geen idee waarom dat zo is.",
    "Nie wiem dlaczego.",
    "Nie działa na serwerze.",
    "Nie ma problemu.",
    "The build takes at least 3 minutes.",
    "The suite runs up to 20 minutes.",
    "Don't hesitate to ask me.",
    "Don't be sorry about it.",
    "You don't need to run it.",
    "It should not take long.",
    "We must be close to the limit.",
    "He must be in the other meeting.",
    "You must be kidding!",
    "The meeting is after 3 pm.",
    "There were at least 40 failures last night.",
    "The page loads within 2 seconds now.",
    'The field "name" is required, says the error.',
    "I only saw it once.",
    "The report is only for the board.",
    "We no longer have access to that account.",
    "The file cannot be found.",
    "By default it prints nothing.",
    "No issues found in the last run.",
    "If you are not the intended recipient you must not copy it.",
    "Please do not print this email unless necessary.",
    "Das soll nicht heißen, dass es schlecht ist.",
    "Ruf mich an, wenn du keine Zeit hast.",
    "Keine Sorge, das passt schon.",
    "Bitte nicht vergessen, die Uhr zu stellen.",
    "N'hésite pas à demander.",
    "Ne t'inquiète pas pour ça.",
    "No te preocupes por el aviso.",
    "No se puede abrir la página.",
    "Nunca llegó el correo.",
    "Non dimenticare la riunione di domani.",
    "Não se preocupe com o aviso.",
    "Não encontro a fatura.",
    "Het moet niet zo lang duren.",
    "Maak je geen zorgen.",
    "Не забудь про встречу.",
    "Не переживай, всё нормально.",
    "这个不可以吗？",
    "绝不是这个原因",
    "不要紧，慢慢来",
    "别担心那个警告",
    "気にしないでください",
    "忘れないでね、明日会議だよ",
    "サーバーが落ちてはいけないのに落ちた",
    "잊지 마세요, 내일 회의입니다.",
    "신경 쓰지 마세요.",
    "لا تقلق، سأنظر في الأمر لاحقا.",
    "I use Windows, not Linux.",
    "The use of it is not clear.",
    "No errors.",
    "No luck with that one, please help.",
    "No, please go on.",
    "Nothing must have changed.",
    "I need to approve the PR in the UI but the button is gone.",
    "Running it is not ok on Windows, it crashes.",
    "We limit the size to 5 MB.",
    "The button is visible for admins only.",
    "Hold on until I find the file.",
    "Kein Fehler, bitte weiter.",
    "Er bleibt unverändert stehen.",
    "No se confirma el correo.",
    "Nada de nuevo.",
    "Non riesco a trovarlo.",
    "Żadnych problemów.",
    "Только не понимаю письма.",
    "别人也可以。",
    "不该是这样的。",
    "更新されたらダメになった",
    "⚠️ It crashed.",
  ])("but not: %s", (said) => {
    expect(extractConstraints(said)).toEqual([]);
  });

  it.each([
    "Never touch these:\n- the billing table\n- the orders table",
    "Please do not change the following files:\n\n1. src/a.ts\n2. src/b.ts",
    "Please never deploy\non Fridays, and keep it quiet.",
    "You must only\nread from the replica.",
    "- Never deploy\n  on Fridays.",
    "Whatever happens, do\nnot touch the billing table.",
  ])("a rule takes the lines that it goes on with: %j", (rule) => {
    const found = extractConstraints(`Hello there.\n${rule}\n\nThe rest is yours.\n- a point`);
    expect(found).toEqual([rule.replace(/^- /, "")]);
  });

  it.each([
    ["an order of its own", "fix the parser\ndon't touch billing", ["don't touch billing"]],
    ["another request", "dont push\ncan you run the tests?", ["dont push"]],
    ["a request before it", "fix the parser\nask me before you deploy", ["ask me before you deploy"]],
    ["the next sentence", "Never deploy.\nthanks a lot", ["Never deploy."]],
    ["a paragraph", "Never deploy\n\nthanks a lot", ["Never deploy"]],
    ["code", "Never deploy\n    const a = 1", ["Never deploy"]],
    [
      "a list of rules",
      "You must follow these:\n- Never deploy\n- Never push",
      ["You must follow these:", "Never deploy", "Never push"],
    ],
    ["a list below no rule", "Look at these:\n- the billing table\n- never deploy", ["never deploy"]],
  ])("but not %s", (_name, said, rules) => {
    expect(extractConstraints(said)).toEqual(rules);
  });

  it.each([
    ["a quoted mail", "Ada wrote:\n> Never deploy.\n> Best, Ada"],
    ["a mail with its head", "Look:\n\nFrom: Bob\nSent: Monday\nTo: Me\nSubject: x\n\nNever deploy.\n\nBest,\nBob"],
    ["changes without a head", "Here it is:\n-Never touch the orders table.\n+Never touch the users table."],
    [
      "a context diff",
      "*** a/x\n--- b/x\n***************\n*** 1,2 ****\n--- 1,3 ----\n  # Rules\n+ Never deploy.\n  Bye",
    ],
    [
      "a diff of Subversion",
      "--- x.md\t(revision 1)\n+++ x.md\t(working copy)\n## -1,2 +1,3 ##\n # Rules\n+Never deploy.",
    ],
  ])("no rule of %s counts, and the user's own behind it does", (_name, pasted) => {
    expect(extractConstraints(pasted)).toEqual([]);
    expect(extractConstraints(`${pasted}\n\nAlways ask first.`)).toEqual(["Always ask first."]);
  });

  it.each([
    ["a mail to the agent", "From: Ada\nTo: agent\nSubject: rules\n\nNever deploy.", ["Never deploy."]],
    [
      "a page with a licence",
      "# Task\n\nNever deploy.\n\n## Usage\n\nNever push.\n\n## License\n\nMIT",
      ["Never deploy.", "Never push."],
    ],
    ["a list of dos and don'ts", "+Always run the tests\n-Never deploy", ["+Always run the tests", "-Never deploy"]],
    ["a list behind a rule", "---\n- Never deploy\n- Never push", ["Never deploy", "Never push"]],
  ])("but %s is the user's own", (_name, said, rules) => {
    expect(extractConstraints(said)).toEqual(rules);
  });

  it("takes the items of a long list that fit whole", () => {
    const items = Array.from({ length: 60 }, (_, n) => `- the table number ${n}`);
    const [rule = ""] = extractConstraints(["Never touch these:", ...items].join("\n"));
    expect(rule.length).toBeLessThanOrEqual(400);
    expect(items).toContain(rule.split("\n").at(-1));
    expect(rule.split("\n").length).toBeGreaterThan(10);
  });

  it("skips fenced code and keeps each rule once", () => {
    expect(extractConstraints("```\nnever do this\n```\n- Never log secrets.\n- Never log secrets.")).toEqual([
      "Never log secrets.",
    ]);
  });

  it("reads headings, table cells, and what stands behind a fence that nothing closes", () => {
    expect(extractConstraints("# Never log secrets")).toEqual(["Never log secrets"]);
    expect(extractConstraints("| rule |\n| --- |\n| 1 | never log secrets |")).toEqual(["never log secrets"]);
    expect(extractConstraints("Log:\n```\nit broke\n\nPlease never log secrets.")).toEqual([
      "Please never log secrets.",
    ]);
    expect(extractConstraints("```it broke``` fix it. Never log secrets.")).toEqual(["Never log secrets."]);
  });

  it("cuts a very long sentence without commas to the words around each prohibition", () => {
    const filler = "and as we discussed at great length with everyone from finance ".repeat(10);
    const found = extractConstraints(`${filler}never touch the billing table ${filler}hands off the archive ${filler}`);
    expect(found).toHaveLength(2);
    expect(found[0]).toContain("never touch the billing table");
    expect(found[1]).toContain("hands off the archive");
    for (const each of found) expect(each.length).toBeLessThanOrEqual(400);
    expect(extractConstraints("never touch the billing table ".repeat(20)).length).toBeLessThan(5);
  });

  it("cuts a very long sentence of a script without blanks as well", () => {
    const filler = "我们和财务部的每个人都讨论了很久".repeat(30);
    const [found = "", ...more] = extractConstraints(`${filler}，绝对不要动账单表，${filler}`);
    expect([found, more]).toEqual(["绝对不要动账单表，", []]);
    expect(extractConstraints(`${filler}绝对不要动账单表${filler}`).join()).toContain("绝对不要动账单表");
  });

  it("cuts a very long sentence back to the clause that states the rule", () => {
    const long = `${"we looked at many things and then ".repeat(15)}, never delete the archive, and so on`;
    expect(extractConstraints(long)).toEqual(["never delete the archive,"]);
  });
});

describe("time stays linear on hostile text", () => {
  it.each<[string, (size: number) => string]>([
    ["one letter", (size) => "a".repeat(size)],
    ["dots", (size) => ".".repeat(size)],
    ["backticks", (size) => "`".repeat(size)],
    ["slashes", (size) => "/".repeat(size)],
    ["sentences of nothing", (size) => ". ".repeat(size / 2)],
    ["nested brackets", (size) => "([{".repeat(size / 3)],
    ["almost a rule", (size) => "don't , ".repeat(size / 8)],
    ["almost a path", (size) => "a/".repeat(size / 2)],
    ["almost an id", (size) => "a_1-".repeat(size / 4)],
    ["paths of the longest size looked at", (size) => `${"a.".repeat(149)} `.repeat(size / 299)],
    ["clauses", (size) => "never , ".repeat(size / 8)],
    ["prohibitions without an end", (size) => "never leave it ".repeat(size / 15)],
    ["one fence", (size) => "```\nnever mind the gap\n".repeat(size / 23)],
    ["almost a French one", (size) => "ne ".repeat(size / 3)],
    ["almost a German one", (size) => "darf ".repeat(size / 5)],
    ["almost a Spanish one", (size) => "no toque ".repeat(size / 9)],
    ["almost one without leave", (size) => "ohne a b ".repeat(size / 9)],
    ["almost a worry", (size) => "keine sorge ".repeat(size / 12)],
    ["almost a Chinese one", (size) => "绝対に".repeat(size / 3)],
    ["calls", (size) => "a(".repeat(size / 2)],
    ["almost changes", (size) => "-a\n".repeat(size / 3)],
    ["heads of mails", (size) => "From: a\nTo: b\nSubject: c\n".repeat(size / 27)],
    ["lines that go on", (size) => "never\nso ".repeat(size / 9)],
    ["list marks", (size) => "- ".repeat(size / 2)],
  ])("%s", (_name, make) => {
    expectLinear(make, (text) => [extractIdentifiers(text), extractConstraints(text)], 50_000);
  });
});

describe("nothing is invented", () => {
  it("every identifier, rule and sentence is a slice of the text", () => {
    const word = constantFrom(
      "never",
      "src/a.ts:3",
      "`x.y()`",
      "don't use",
      "$5",
      "12 ms",
      "- [ ]",
      ".",
      "?",
      "\n",
      "```",
      "#12",
      "ok",
    );
    assert(
      property(array(oneof(word, string()), { maxLength: 40 }), (words) => {
        const text = words.join(" ");
        for (const { value, count } of extractIdentifiers(text)) {
          expect(value.split(" ").every((part) => text.includes(part))).toBe(true);
          expect(count).toBeGreaterThan(0);
        }
        for (const rule of extractConstraints(text)) expect(text).toContain(rule);
        for (const { text: sentence } of splitSentences(text)) expect(text).toContain(sentence);
      }),
    );
  });
});

describe.skipIf(!existsSync(piSession))("a real coding session (skipped where the transcripts are absent)", () => {
  it("yields the files, commits and compiler errors that were at stake, and few others", () => {
    const text = readFileSync(piSession, "utf8").replaceAll("\\n", "\n");
    const found = extractIdentifiers(text);
    const all = new Set(found.map((each) => each.value));
    for (const known of ["src/main.ts", "tui-renderer.ts", "TS2339", "ENOENT", "AgentSession"])
      expect(all).toContain(known);
    expect(found.filter((each) => each.kind === "error").length).toBeLessThan(60);
  });
});
