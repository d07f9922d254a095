/** Search finds every stored match and nothing else, costs nothing until its first use, and never fails on a query. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchExpression } from "../../src/recall/index-text.ts";
import { fill, say, span, withProbe, type SearchedMemory } from "../memory/probe.ts";
import { tries } from "../tries.ts";
import { codeOf } from "../thrown.ts";

function found(memory: SearchedMemory, query: string, sessionId = ""): string[] {
  return memory.search.find(query, { sessionId }).map((hit) => hit.id);
}

/** Whether any page of the index still holds these bytes. */
function leftInIndex(storage: DurableObjectStorage, word: string): boolean {
  // FTS5 writes what it holds back when a savepoint begins, as it does when a transaction commits.
  storage.transactionSync(() => undefined);
  const shadows = ["data", "content", "idx", "docsize"].map((name) => `palimpsest_search_${name}`);
  return shadows.some((table) =>
    storage.sql
      .exec(`SELECT * FROM ${table}`)
      .toArray()
      .flatMap((row) => Object.values(row))
      .some((value) => bytes(value).includes(word)),
  );
}

function bytes(value: unknown): string {
  return value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : String(value);
}

describe("a query", () => {
  test("means all of its words, a phrase in quotes, a beginning before a star, whatever their case and accents", async () => {
    await withProbe(({ memory, history }) => {
      history.append(say("a", "The deployment is scheduled for Friday"));
      history.append(say("b", "Friday the deployments moved; café über Zürich"));
      expect(found(memory, "deployment Friday").toSorted()).toEqual(["a", "b"]);
      expect(found(memory, "FRIDAY deploy*")).toEqual(expect.arrayContaining(["a", "b"]));
      expect(found(memory, '"deployment is scheduled"')).toEqual(["a"]);
      expect(found(memory, '"scheduled deployment"')).toEqual([]);
      expect(found(memory, '"the deploy"*')).toEqual(expect.arrayContaining(["a", "b"]));
      expect(found(memory, "cafe uber ZURICH")).toEqual(["b"]);
      expect(found(memory, "caf\u00e9")).toEqual(["b"]);
      expect(found(memory, "cafe\u0301")).toEqual(["b"]);
      expect(found(memory, '"unbalanced')).toEqual([]);
    });
  });

  test("where no message has all of its words, finds those that have most, in any form, and says which are missing", async () => {
    await withProbe(({ memory, history }) => {
      history.append(say("a", "The deployment was promised for Friday"));
      history.append(say("b", "On Friday it rains"));
      history.append(say("c", "Nobody has anything to say here"));
      for (let n = 0; n < 20; n++) history.append(say(`n${n}`, `message ${n}`));
      const hits = memory.search.find("Which deployments did they promise on a friday in zanzibar?");
      expect(hits.map(({ id, missing }) => [id, missing])).toEqual([["a", ["zanzibar"]]]);
      expect(hits[0]?.snippet).toContain("deployment was promised");
      expect(found(memory, "friday zanzibar")).toEqual(["b", "a"]);
      expect(memory.search.find("friday").map(({ missing }) => missing)).toEqual([[], []]);
      expect(memory.search.find("promises")[0]?.missing).toEqual([]);
    });
  });

  test("finds a word in another form in each language that it knows, and as it is written where the question is in another", async () => {
    await withProbe(({ memory, history }) => {
      history.append(say("name-de", "Herr Fischer hat die Rechnungen für München noch nicht bezahlt"));
      history.append(say("name-it", "La signora Bianchi ha comprato la casa di via Garibaldi"));
      history.append(say("name-ru", "Ольга Петрова купила дом и не продала его"));
      for (let n = 0; n < 20; n++) history.append(say(`n${n}`, `message ${n}`));
      history.append(say("de", "Die Häuser waren nicht mehr zu verkaufen, und das war gut so"));
      history.append(say("fr", "Nous avons pris une décision avec les autres"));
      history.append(say("es", "Las montañas que vimos eran muy altas"));
      history.append(say("pt", "As cadeiras foram vendidas para uma escola que não conheço"));
      history.append(say("it", "Le biciclette erano tutte in cantina"));
      history.append(say("nl", "De fietsen stonden allemaal in de schuur"));
      history.append(say("ru", "Мы обсудили все решения на прошлой неделе"));
      for (const [query, id] of [
        ["Was war mit dem Haus?", "de"],
        ["Quelles sont les décisions ?", "fr"],
        ["¿Cómo era la montaña?", "es"],
        ["Onde foi que ele vendeu a cadeira?", "pt"],
        ["Dove è la bicicletta?", "it"],
        ["Waar is de fiets?", "nl"],
        ["Какое было решение?", "ru"],
        ["bicicletta", "it"],
        ["What did Fischer pay?", "name-de"],
        ["What does she owe in Munchen?", "name-de"],
        ["What did Bianchi buy?", "name-it"],
        ["What did Петрова buy?", "name-ru"],
      ] as const) {
        expect(found(memory, query), query).toEqual([id]);
      }
    });
  });

  test("finds any part of a text in scripts without spaces, of one character and of many", async () => {
    await withProbe(({ memory, history }) => {
      history.append(say("ja", "本番サーバーのデプロイは金曜日に予定されています。Cloudflare上で。"));
      history.append(say("zh", "部署计划在星期五进行,𠮷野家除外"));
      history.append(say("ko", "배포는 금요일로 예정되어 있습니다"));
      history.append(say("th", "การปรับใช้กำหนดไว้วันศุกร์"));
      for (const part of ["サーバー", "バー", "金", "金曜日に予定", "cloudflare上", "デプロイ 金曜"]) {
        expect(found(memory, part), part).toEqual(["ja"]);
      }
      for (const part of ["星期五", "𠮷野", "计划在"]) expect(found(memory, part), part).toEqual(["zh"]);
      for (const part of ["금요일", "요일로", "배포"]) expect(found(memory, part), part).toEqual(["ko"]);
      expect(found(memory, "กำหนด")).toEqual(["th"]);
      expect(found(memory, "曜金")).toEqual([]);
      expect(found(memory, "デプロイはいつですか")).toEqual(["ja"]);
      expect(memory.search.find("金曜日")[0]?.snippet).toContain("デプロイは金曜日に予定");
    });
  });

  test("is never malformed, whatever is in it, before the first write and after", async () => {
    await withProbe(({ memory, history, reopen }) => {
      const operators = ['"', "'", "*", "^", ":", "-", "+", "(", ")", "{", "}", "NEAR(", "NEAR/3", "AND", "OR", "NOT"];
      const piece = fc.oneof(
        fc.constantFrom(...operators, "\0", "\ud800", "\udc00", "words", "words:", ";--", "?", "文字", "\u2063", "👩‍👩‍👧"),
        fc.string({ unit: "binary", maxLength: 8 }),
      );
      const query = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
      const spaced = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(" "));
      const check = (runs: number): void =>
        fc.assert(
          fc.property(fc.oneof(query, spaced), (text) => {
            expect(Array.isArray(memory.search.find(text))).toBe(true);
          }),
          { numRuns: tries(runs) },
        );
      check(50);
      history.append(say("m", operators.join(" ")));
      check(1_000);
      expect(found(memory, '"near words"')).toEqual([]);
      expect(found(memory, "near OR and NOT")).toEqual(["m"]);
      expect(found(reopen(), "w ".repeat(5_000_000))).toEqual([]);
      expect(found(memory, "!!! ...")).toEqual([]);
    });
  });

  test("finds any text again by the whole of it, in any mixture of scripts", async () => {
    await withProbe(({ memory, history }) => {
      const mixed = fc.stringMatching(/^[a-zA-Zà-öø-ÿа-яё0-9ぁ-んァ-ヶー一-鿋 .,-]{1,20}$/u);
      let n = 0;
      fc.assert(
        fc.property(mixed, (text) => {
          history.append(say(`m${n}`, `before ${text} after ${n}`));
          expect(found(memory, `"before ${text} after ${n}"`)).toEqual([`m${n++}`]);
        }),
        { numRuns: tries(200) },
      );
    });
  });

  test("finds a word in a log of an event stream, whose lines begin with data:", async () => {
    await withProbe(({ memory, history }) => {
      const output = 'data: {"delta":"the lantern"}\n\ndata: {"delta":"was lit"}\n\ndata: [DONE]';
      const part = { type: "tool-stream", toolCallId: "c", state: "output-available", input: {}, output } as const;
      history.append({ id: "sse", role: "assistant", parts: [part] });
      expect(found(memory, "lantern")).toEqual(["sse"]);
    });
  });

  test("shows the part in which the words stand together, wherever that is, whatever their case, accents and script", async () => {
    await withProbe(({ memory, history }) => {
      const filler = "filler ".repeat(30_000);
      history.append(say("far", `tank ${filler} the Café's öil tank leaks ${filler} tank`));
      const [hit] = memory.search.find("tank OIL cafe");
      expect(hit?.snippet).toMatch(/^…filler .* Café's öil tank leaks filler.*…$/s);
      expect(hit?.snippet.length).toBeLessThan(260);
      history.append(say("cjk", `${"部署计划".repeat(40_000)}星期五进行${"部署计划".repeat(100)}`));
      expect(memory.search.find("星期五")[0]?.snippet).toMatch(/^…(部署计划|划|计划|署计划)+星期五进行部署计划.*…$/);
      history.append(say("start", "opening words and no more"));
      expect(memory.search.find("open*")[0]?.snippet).toBe("opening words and no more");
    });
  });

  test("asks for each of its words once, and for 32 at most", async () => {
    expect(matchExpression("p* ".repeat(600))).toBe('"p" *');
    expect(matchExpression("Word word WORD word*")).toBe('"word" * "word"');
    const words = Array.from({ length: 200 }, (_, n) => `w${n}`);
    expect(matchExpression(words.join(" ")).split(" ")).toHaveLength(32);
    await withProbe(({ memory, history }) => {
      history.append(say("m", words.slice(0, 32).join(" ")));
      expect(found(memory, words.join(" "))).toEqual(["m"]);
    });
  });

  test("answers with the best first, a snippet, and no more than asked for; an impossible limit is refused", async () => {
    await withProbe(({ memory, history }) => {
      for (let n = 0; n < 30; n++)
        history.append(say(`n${n}`, `${"filler ".repeat(60)} needle ${"filler ".repeat(60)}`));
      history.append({ id: "best", role: "assistant", parts: [{ type: "text", text: "needle needle" }] });
      const hits = memory.search.find("needle", { limit: 5 });
      expect(hits.map((hit) => hit.id)).toEqual(["best", "n29", "n28", "n27", "n26"]);
      expect(hits[0]).toEqual({
        id: "best",
        sessionId: "",
        role: "assistant",
        createdAt: 1_000,
        snippet: "needle needle",
        missing: [],
        partial: false,
        score: expect.any(Number),
      });
      expect(hits[1]?.snippet).toMatch(/^….*needle.*…$/);
      expect(hits[0]?.score).toBeGreaterThan(hits[1]?.score ?? 0);
      expect(memory.search.find("needle").length).toBe(20);
      for (const limit of [0, -1, 1.5, 101, Number.NaN])
        expect(codeOf(() => memory.search.find("x", { limit }))).toBe("invalid_options");
    });
  });
});

describe("the index", () => {
  test("holds texts, reasoning, calls, results, errors, names of files and sources; no encoded bytes", async () => {
    await withProbe(({ memory, history }) => {
      const call = {
        type: "dynamic-tool" as const,
        toolName: "lookup",
        toolCallId: "c",
        input: { inputKey: "inputValue\nsecondLine" },
      };
      const parts: UIMessage["parts"] = [
        { type: "text", text: "said" },
        { type: "reasoning", text: "thought" },
        { ...call, state: "output-available", output: [{ outputKey: ["outputValue", 4711] }] },
        { ...call, state: "output-error", errorText: "ENOENT missing" },
        {
          type: "file",
          mediaType: "image/png",
          filename: "plan.png",
          url: `data:image/png;base64,${"QUJD".repeat(400)}`,
        },
        { type: "source-url", sourceId: "s", url: "https://example.com/page", title: "Titled" },
        { type: "data-private", data: { secret: "hidden" } },
      ];
      history.append({ id: "m", role: "assistant", parts });
      const words = [
        "said",
        "thought",
        "lookup",
        "inputKey",
        "secondLine",
        "outputKey",
        "outputValue",
        "4711",
        "enoent",
      ];
      for (const word of [...words, "plan.png", "example.com/page", "titled"])
        expect(found(memory, word), word).toEqual(["m"]);
      for (const word of ["hidden", "QUJDQUJD*", "base64"]) expect(found(memory, word), word).toEqual([]);
    });
  });

  test("S2: after update, delete and clear nothing of the old text is found, nor left in the index", async () => {
    await withProbe(({ memory, history, storage }) => {
      history.append(say("a", "alphaword stays"));
      history.append(say("b", "betaword goes"));
      history.append(say("c", "gammaword 漢字 stays"));
      expect(found(memory, "betaword")).toEqual(["b"]);
      history.update(say("b", "deltaword came"));
      expect([found(memory, "betaword"), found(memory, "deltaword")]).toEqual([[], ["b"]]);
      expect(leftInIndex(storage, "betaword")).toBe(false);
      history.delete(["b"]);
      expect([found(memory, "deltaword"), found(memory, "stays").toSorted()]).toEqual([[], ["a", "c"]]);
      expect(leftInIndex(storage, "deltaword")).toBe(false);
      history.clear();
      expect(found(memory, "stays")).toEqual([]);
      for (const word of ["alphaword", "gammaword", "stays"]) expect(leftInIndex(storage, word)).toBe(false);
      history.append(say("d", "alphaword again"));
      expect(found(memory, "alphaword")).toEqual(["d"]);
    });
  });

  test("is exact for messages split over rows, stored before the first search, after it, and updated", async () => {
    await withProbe(({ memory, history }) => {
      const filler = Array.from({ length: 300_000 }, (_, n) => `f${n % 97}`).join(" ");
      history.append(say("old", `${filler} ${filler} ${filler} endofold`));
      expect(found(memory, "endofold")).toEqual(["old"]);
      history.append(say("new", `${filler} ${filler} ${filler} endofnew`));
      expect(found(memory, "endofnew")).toEqual(["new"]);
      history.update(say("old", `${filler} ${filler} ${filler} changedend`));
      expect([found(memory, "endofold"), found(memory, "changedend")]).toEqual([[], ["old"]]);
    });
  });

  test("S1: a session's search sees that session only, the memory's sees all; equal ids are told apart", async () => {
    await withProbe(({ memory }) => {
      for (const id of ["one", "two", "three"]) memory.session(id).append(say("same", `secretword of ${id}`));
      expect(memory.search.find("secretword", { sessionId: "two" })).toMatchObject([{ sessionId: "two", id: "same" }]);
      expect(memory.search.find("secretword", { sessionId: "four" })).toEqual([]);
      expect(
        memory.search
          .find("secretword")
          .map((hit) => hit.sessionId)
          .toSorted(),
      ).toEqual(["one", "three", "two"]);
      memory.session("two").clear();
      expect(
        memory.search
          .find("secretword")
          .map((hit) => hit.sessionId)
          .toSorted(),
      ).toEqual(["one", "three"]);
    });
  });

  test("finds what an overlay hides and what is on other branches", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 20);
      history.append(say("branch", "elsewhere"), "m3");
      history.append(say("end"), "m20");
      expect(history.overlays.add({ span: span("m1", "m15"), summary: "S" }).kind).toBe("applied");
      expect(found(memory, "m7")).toEqual(["m7"]);
      expect(found(memory, "elsewhere")).toEqual(["branch"]);
    });
  });

  test("agrees with the rows after any sequence of changes, searches, rollbacks and wake-ups", async () => {
    await withProbe(({ reopen }) => {
      const word = fc.constantFrom("alpha", "beta", "gamma", "文字列", "delta");
      const change = fc.oneof(
        fc.record({ do: fc.constant("append" as const), text: fc.array(word, { minLength: 1 }) }),
        fc.record({ do: fc.constant("update" as const), at: fc.nat(), text: fc.array(word, { minLength: 1 }) }),
        fc.record({ do: fc.constantFrom("delete" as const, "rollback" as const), at: fc.nat() }),
        fc.record({ do: fc.constantFrom("search" as const, "reopen" as const, "clear" as const) }),
      );
      let run = 0;
      fc.assert(
        fc.property(fc.array(change, { minLength: 5, maxLength: 30 }), (changes) => {
          const sessionId = `s${run++}`;
          let current = reopen();
          const stored = new Map<string, string>();
          const check = (): void => {
            for (const each of ["alpha", "beta", "gamma", "字列", "delta"]) {
              const expected = [...stored].flatMap(([id, text]) => (text.includes(each) ? [id] : []));
              const hits = current.search.find(each, { sessionId, limit: 100 }).map((hit) => hit.id);
              expect(hits.toSorted()).toEqual(expected.toSorted());
            }
          };
          changes.forEach((each, n) => {
            const history = current.session(sessionId);
            const id = "at" in each ? [...stored.keys()][each.at % Math.max(1, stored.size)] : undefined;
            if (each.do === "append") {
              history.append(say(`m${n}`, each.text.join(" ")));
              stored.set(`m${n}`, each.text.join(" "));
            } else if (each.do === "update" && id !== undefined) {
              history.update(say(id, each.text.join(" ")));
              stored.set(id, each.text.join(" "));
            } else if (each.do === "delete" && id !== undefined) {
              history.delete([id]);
              stored.delete(id);
            } else if (each.do === "rollback") {
              expect(() =>
                current.db.transaction((): void => {
                  history.append(say("lost", "alpha beta gamma"));
                  if (id !== undefined) history.update(say(id, "alpha"));
                  current.search.find("alpha", { sessionId });
                  history.clear();
                  throw new Error("on purpose");
                }),
              ).toThrow("on purpose");
            } else if (each.do === "clear") {
              history.clear();
              stored.clear();
            } else if (each.do === "reopen") {
              current = reopen();
            } else {
              check();
            }
          });
          check();
        }),
        { numRuns: tries(60) },
      );
    });
  });
});
