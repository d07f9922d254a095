/** The words of hidden messages that are shown. They are names wherever they stand, the warmest first, each once, within the room. */
import { array, assert, constantFrom, integer, property, record, string, boolean } from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseWords, talkOf, widthOf } from "../../../src/facts/names/choose.ts";
import { isOrdinary } from "../../../src/facts/names/ordinary.ts";
import {
  gatherWords,
  heatOf,
  mergeWords,
  NO_WORDS,
  type Words,
  MAX_WORDS,
  MAX_WORD_PLACES,
} from "../../../src/facts/names/table.ts";
import { wordsIn } from "../../../src/facts/words.ts";

const wrote = (text: string): Words => gatherWords([{ written: true, text }]);
const read = (text: string): Words => gatherWords([{ written: false, text }]);
const heat = (words: Words, name: string): number =>
  words.rows.flatMap((row) => (row[0] === name ? [heatOf(row)] : []))[0] ?? 0;
const wordsOf = ({ rows }: Words): string[] => rows.map(([word]) => word);
const choose = (words: Words, characters: number, more: { talk?: Words[]; shown?: string[] } = {}): string[] =>
  chooseWords(words, {
    characters,
    talk: talkOf(more.talk ?? []),
    isShown: (word) => more.shown?.includes(word) === true,
  });

const anything = array(
  constantFrom(
    "src/tui/footer.tsx",
    "footer.tsx",
    "showThemeSelector",
    "ThemeSelector",
    "themeName",
    "user_id",
    "#W5362037",
    "the",
    "session",
    "設定ファイル",
    "「南京」",
    "https://example.com/a?b=c",
    "\n",
    "`",
    "{",
    "-----",
  ),
  { maxLength: 30 },
).map((words) => words.join(" "));
const tables = array(
  record({ written: boolean(), text: anything }).map((saying) => gatherWords([saying])),
  { minLength: 1, maxLength: 12 },
);

describe("words that name something", () => {
  it("are found in prose, code, JSON, a shell, a diff and a table alike", () => {
    const names = ["showThemeSelector", "src/tui/footer.tsx", "MAX_TOKENS", "HAT223", "golangci-lint"];
    const frames: ((name: string) => string)[] = [
      (name) => `I looked at ${name}, and it is wrong.`,
      (name) => `const a = call(${name}, [1]);`,
      (name) => `{"path":"${name}","n":1}`,
      (name) => `$ grep -rn '${name}' | wc`,
      (name) => `-  old\n+  ${name};`,
      (name) => `| ${name} | 12 |`,
      (name) => `{"text":"It says:\\n${name}\\n"}`,
    ];
    for (const name of names) for (const frame of frames) expect(wordsIn(frame(name)), frame(name)).toContain(name);
  });

  it("have no rest of an escape before them", () => {
    expect(wordsIn("?q=%22builder_x%3Afinance.example.com and it\\u2019regex_y")).toEqual([
      "builder_x",
      "finance.example.com",
      "regex_y",
    ]);
  });

  it("are found in scripts without blanks, and in words of any alphabet", () => {
    expect(wordsIn("「南京ダック」のレシピをリリースパイプラインで確認した。")).toEqual(
      expect.arrayContaining(["南京ダック", "リリースパイプライン"]),
    );
    expect(wordsIn("请查看南京大学的网站 example.com/nju")).toEqual(expect.arrayContaining(["example.com/nju"]));
    expect(wordsIn("Sergej sagte, Größenänderung_3 sei kaputt")).toContain("Größenänderung_3");
  });

  it("stand between the backticks of one span, and never between two spans", () => {
    const long = "scripts/aggregate_and_export_parameters.sh";
    const prose = ["を実行し、", "で起動する"];
    const lines = [
      `\`${long}\` を実行し、\`設定表\` で起動する`,
      `\`${long}\`を実行し、\`設定表\`で起動する`,
      `\`\`${long}\`\`を実行し、\`設定表\`で起動する`,
    ];
    const frames: ((line: string) => string)[] = [
      (line) => line,
      (line) => `一つだけ\`\n${line}\n\`\`\`ts\n${line}`,
      (line) => JSON.stringify({ text: `一つだけ\`\n${line}\n\`` }),
      (line) => JSON.stringify(JSON.stringify({ text: `一つだけ\`\n${line}\n\`` })),
    ];
    for (const line of lines) {
      for (const frame of frames) {
        const words = wordsIn(frame(line));
        expect(words, frame(line)).toEqual(expect.arrayContaining([long, "設定表"]));
        for (const each of prose) expect(words, frame(line)).not.toContain(each);
      }
    }
    // Half a line does not tell where its spans begin.
    expect(wordsIn("を実行し、`設定` で起動する、`地域")).toEqual([]);
  });

  it.each([
    [
      "the stem of a verb, or what tells when",
      "入力待ちの状態で、自動差し替えの障害発生時に、要件定義を確認する。",
      ["要件定義"],
    ],
    ["a common loan word", "デフォルトのメッセージをプリセットワークフローで確認", ["プリセットワークフロー"]],
    ["a piece beside a part of a word", "请参见用户手册，无线电波，如果启用防冻剂容器，", ["启用防冻剂容器"]],
    ["a part of a long run", `防冻剂容器，${"用户手册说明书".repeat(5)}`, ["防冻剂容器"]],
  ])("are not, in Chinese and Japanese, %s", (_what, said, terms) => {
    expect(wordsIn(said)).toEqual(terms);
  });

  it("are not cut where a line without blanks is read in parts", () => {
    const told = gatherWords([{ written: true, text: "我看看防冻剂容器和它，".repeat(200) }]);
    expect(told.rows.map(([word]) => word)).toEqual(["看看防冻剂容器"]);
  });

  it("have more than two characters in Chinese and Japanese, unless they are quoted", () => {
    expect(wordsIn("创建一个网站")).toEqual([]);
    expect(wordsIn("検証を表示する | 結果 |")).toEqual([]);
    expect(wordsIn("检查了问题，状态 | 结果 |")).toEqual([]);
    for (const term of ["「軟兜」", "《軟兜》", "`軟兜`", "“軟兜”"])
      expect(wordsIn(`${term}を表示する。`), term).toEqual(["軟兜"]);
    expect(wordsIn("型定義追加を検証する")).toEqual(["型定義追加"]);
  });

  it("are the same name with any particle of Korean, and keep an ending that is their own", () => {
    const said = "김민수는 김민수이 김민수을 김민수 서울특별시에서 김지은";
    expect(wordsIn(said)).toEqual(["김민수", "김민수", "김민수", "김민수", "서울특별시", "김지은"]);
  });

  it("are no words of the language, whatever their ending and case", () => {
    expect(wordsIn("The session was walking; Sessions don't end, and it's end-to-end.")).toEqual([]);
    for (const word of ["session", "Sessions", "walking", "authentication", "end-to-end", "cannot", "Cannot"])
      expect(isOrdinary(word), word).toBe(true);
    for (const word of ["showThemeSelector", "user_id", "HAT223"]) expect(isOrdinary(word), word).toBe(false);
    expect(["Wi-Fi", "zh-CN", "fs-extra"].filter(isOrdinary)).toEqual([]);
    expect(["state-of-the-art", "follow-up", "one-to-one"].filter((word) => !isOrdinary(word))).toEqual([]);
  });

  it("are no words that English makes of an ordinary one with a common prefix or ending", () => {
    for (const word of ["rechecked", "Restocking", "tentatively", "silently", "unpack", "recreate", "freshness"])
      expect(isOrdinary(word), word).toBe(true);
    expect(["kubectl", "Qdrant", "Reddit", "Redis", "Instagram", "Docker"].filter(isOrdinary)).toEqual([]);
  });

  it("are slices of what was said, whatever that is", () => {
    assert(
      property(string({ unit: "binary", maxLength: 300 }), (text) => {
        for (const word of wordsIn(text)) {
          expect(word).toBe(word.trim());
          expect(text.replaceAll(/\\[ntr"]/g, " ")).toContain(word);
        }
      }),
    );
  });
});

describe("which words are chosen first", () => {
  it("identifiers before plain words and numbers, where only a tool said them", () => {
    const plain = ["nebulous", "Firebase", "Client/Server", "12:45:30", "265-286", "https://a.example/b"];
    for (const word of plain) {
      const id = "q".repeat(word.length - 2) + "_q";
      expect(choose(read(`${word}\n${id}`), widthOf(id)), word).toEqual([id]);
    }
    expect(choose(wrote("nebulous\nrun_this"), widthOf("nebulous"))).toEqual(["nebulous"]);
  });

  it("a number of seven digits or more before a shorter one, where only a tool said them", () => {
    expect(choose(read("120033\n2232444958"), widthOf("2232444958"))).toEqual(["2232444958"]);
  });

  it("a word of many places before one of a single place that is as warm", () => {
    const often = mergeWords([read("abc_one"), ...Array.from({ length: 4 }, () => read("abc_two"))]);
    const cold = {
      ...often,
      rows: often.rows.map(([word, , , ...rest]): Words["rows"][number] => [word, 0, 0.3, ...rest]),
    };
    expect(choose(cold, widthOf("abc_one"))).toEqual(["abc_two"]);
  });

  it("a name of its own before one of a long series", () => {
    const series = Array.from({ length: 40 }, (_, n) => `node_${n + 100}`);
    expect(choose(read([...series, "node_tree"].join(" ")), widthOf("node_tree"))).toEqual(["node_tree"]);
  });
});

describe("how warm a word is", () => {
  it("adds up the same, however the messages are cut into parts", () => {
    assert(
      property(tables, integer({ min: 0, max: 12 }), (all, at) => {
        const whole = mergeWords(all);
        const parts = mergeWords([
          mergeWords([NO_WORDS, ...all.slice(0, at)]),
          mergeWords([NO_WORDS, ...all.slice(at)]),
        ]);
        expect(parts.messages).toBe(whole.messages);
        expect(parts.places).toBe(whole.places);
        expect(wordsOf(parts)).toEqual(wordsOf(whole));
        for (const [index, [word, written, heat, ...rest]] of whole.rows.entries()) {
          const [, writtenInParts = 0, heatInParts = 0, ...restInParts] = parts.rows[index] ?? [word];
          expect(writtenInParts).toBeCloseTo(written, 1);
          expect(heatInParts).toBeCloseTo(heat, 1);
          expect(restInParts).toEqual(rest);
        }
      }),
    );
  });

  it("is kept of so many words and places, the warmest, whatever was said", () => {
    const many = Array.from({ length: 3 * MAX_WORDS }, (_, n) => `name_${n}`).join(" ");
    const table = mergeWords([wrote("first_name second_name"), wrote("first_name"), wrote(many), wrote("first_name")]);
    expect(table.rows.length).toBe(MAX_WORDS);
    expect(wordsOf(table)).toContain("first_name");
    for (const [, , , , ...places] of table.rows) expect(places.length).toBeLessThanOrEqual(MAX_WORD_PLACES);
  });

  it("is more where it was written than where it was read, and a tool's echo is no second saying", () => {
    expect(heat(wrote("first_name"), "first_name")).toBeGreaterThan(2 * heat(read("first_name"), "first_name"));
    const echoed = gatherWords([
      { written: true, text: "write src/a_file.ts" },
      { written: false, text: "Successfully wrote src/a_file.ts" },
    ]);
    expect(echoed.rows).toContainEqual(["src/a_file.ts", heat(echoed, "src/a_file.ts"), 0, 2, 0, 1]);
  });

  it("is less in a long output than in a short one, where a tool said it, and the same in any written text", () => {
    const page = Array.from({ length: 150 }, (_, n) => `word_${n}`).join(" ");
    const short = heat(read("a_name"), "a_name");
    expect(heat(read(Array.from({ length: 10 }, (_, n) => `word_${n}`).join(" ")), "word_1")).toBe(short);
    expect(heat(read(page), "word_1")).toBeLessThan(short / 2);
    expect(heat(wrote(page), "word_1")).toBe(heat(wrote("a_name"), "a_name"));
    expect(choose(mergeWords([read("word_record"), read(page)]), widthOf("word_record"))).toEqual(["word_record"]);
    // The shorter of two outputs counts, in either order.
    const both = [page, "word_1"].map((text) => ({ written: false, text }));
    for (const sayings of [both, both.toReversed()]) expect(heat(gatherWords(sayings), "word_1")).toBe(short);
  });

  it("fades as the conversation goes on", () => {
    const table = mergeWords([
      wrote("old_name"),
      ...Array.from({ length: 100 }, () => wrote("other_name")),
      wrote("new_name"),
    ]);
    expect(choose(table, widthOf("old_name"), { shown: ["other_name"] })).toEqual(["new_name"]);
  });
});

describe("the choice", () => {
  it("fits its room, is the same each time, and says nothing twice", () => {
    assert(
      property(tables, tables, integer({ min: 0, max: 200 }), (all, tail, room) => {
        const words = mergeWords(all);
        const chosen = choose(words, room, { talk: tail });
        expect(chosen.reduce((sum, word) => sum + widthOf(word), 0)).toBeLessThanOrEqual(room);
        expect(choose(words, room, { talk: tail })).toEqual(chosen);
        for (const one of chosen) for (const other of chosen) if (one !== other) expect(one).not.toContain(other);
        for (const word of chosen) expect(wordsOf(words)).toContain(word);
      }),
    );
  });

  it("leaves out what the reader sees anyway", () => {
    const words = wrote("first_name second_name");
    expect(choose(words, 100, { shown: ["first_name"] })).toEqual(["second_name"]);
  });

  it("prefers what stood beside what is talked of now", () => {
    const words = mergeWords([wrote("talked_of beside_it"), wrote("elsewhere_1 far_from1"), wrote("unrelated")]);
    const talk = [wrote("talked_of")];
    expect(choose(words, widthOf("beside_it"), { talk, shown: ["talked_of"] })).toEqual(["beside_it"]);
  });

  it("says a short name within a long one where both are worth it", () => {
    const words = mergeWords([wrote("footer.tsx"), wrote("src/tui/footer.tsx"), wrote("src/tui/footer.tsx")]);
    expect(choose(words, 100)).toEqual(["src/tui/footer.tsx"]);
  });

  it("takes a term of a script without blanks only where it was set apart or said again and again", () => {
    expect(choose(wrote("南京大学"), 100)).toEqual([]);
    expect(choose(mergeWords(Array.from({ length: 5 }, () => wrote("南京大学"))), 100)).toEqual(["南京大学"]);
  });
});
