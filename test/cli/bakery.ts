/** A small session for `palimpsest eval`, in our own words, with the exam that a played judge writes on it, and the minds that are played. */
import { createServer, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { UIMessage } from "ai";

const say = (id: string, role: "user" | "assistant", text: string): UIMessage => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

/** Talk around what the exam asks for, a paragraph of some hundred tokens that never repeats itself. */
function talk(n: number): string {
  const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
  const lines = Array.from({ length: 6 }, (_, at) => {
    const crates = ((n * 7 + at * 3) % 23) + 2;
    return `Stop ${at + 1} of tour ${n} takes ${crates} crates on ${days[(n + at) % 5]}, and the driver waits ${crates + at} minutes there.`;
  });
  return lines.join(" ");
}

/** What stands in the hidden part, by the message that says it. */
const HELD: Readonly<Record<string, string>> = {
  b8: "From now on never plan a delivery before six, the neighbours complain.",
  b11: "I decided for the electric van, because the old one fails the city's emission rule.",
  b15: "The route solver stopped with code ROUTE-417 until the depot got coordinates.",
  b20: "The mill's list says that rye flour costs 0.82 a kilo.",
  b23: "<script>alert('crumbs')</script> is what the old form printed, and it is still open.",
};

const MESSAGES = 50;

export const BAKERY: readonly UIMessage[] = Array.from({ length: MESSAGES }, (_, index) => {
  const id = `b${index + 1}`;
  const held = HELD[id];
  return say(id, index % 2 === 0 ? "user" : "assistant", `${held === undefined ? "" : `${held} `}${talk(index + 1)}`);
});

export const BAKERY_JSONL = BAKERY.map((message) => `${JSON.stringify(message)}\n`).join("");

interface Written {
  readonly n: number;
  readonly kind: string;
  readonly question: string;
  readonly answer: string;
  readonly evidence: readonly { readonly message: string; readonly quote: string }[];
  readonly weight: number;
}

const ask = (n: number, kind: string, question: string, answer: string): Written => {
  const [message = "", quote = ""] = Object.entries(HELD)[n - 1] ?? [];
  return {
    n,
    kind,
    question,
    answer,
    weight: n === 1 ? 3 : 1,
    evidence: [{ message: message.replace("b", "m"), quote }],
  };
};

/** Five questions that stand, and three that do not: an invented quotation, a message of the tail, and one that is not there. */
export const WRITTEN: readonly Written[] = [
  ask(1, "rule", "Before which hour is no delivery planned?", "six"),
  ask(2, "decision", "Which van was chosen?", "electric"),
  ask(3, "failure", "With which code did the route solver stop?", "ROUTE-417"),
  ask(4, "fact", "What does rye flour cost?", "0.82"),
  ask(5, "state", "What did the old form print?", "<script>alert('crumbs')</script>"),
  {
    ...ask(6, "fact", "How many ovens are there?", "nine"),
    evidence: [{ message: "m9", quote: "There are nine ovens." }],
  },
  { ...ask(7, "fact", "What is tour 40 like?", "long"), evidence: [{ message: "m40", quote: "Stop 1 of tour 40" }] },
  { ...ask(8, "fact", "What comes last?", "bread"), evidence: [{ message: "m400", quote: "Stop 1" }] },
];

export type Mind = (text: string, model: string) => string | { readonly status: number; readonly body: string };

/** Plays every part. A reader knows what stands in its view, and a grader compares with the key. */
export const mind: Mind = (text) => {
  if (text.includes("You are an examiner")) return `Here it is:\n\`\`\`json\n${JSON.stringify(WRITTEN)}\n\`\`\``;
  if (text.includes("You go on with")) return answersFrom(text);
  if (text.includes("You grade an exam")) return gradesFrom(text);
  return summaryOf(text);
};

function answersFrom(text: string): string {
  const end = text.lastIndexOf("</conversation");
  const asked = [...text.slice(end).matchAll(/^(\d+)\. (.+)$/gm)];
  return asked
    .map(([, n = "", question = ""]) => {
      const key = WRITTEN.find((each) => each.question === question)?.answer;
      return `${n}. ${key !== undefined && knows(text, key) ? `It is ${key}.` : "unknown"}`;
    })
    .join("\n");
}

/** Whether the view says it. */
function knows(text: string, key: string): boolean {
  return text.slice(0, text.lastIndexOf("</conversation")).includes(key);
}

function gradesFrom(text: string): string {
  const papers = text.split(/^Question /m).slice(1);
  const grades = papers.map((paper): [string, Record<string, number>] => {
    const key = /^Key: (.*)$/m.exec(paper)?.[1] ?? "";
    const answers = [...paper.matchAll(/^Answer (\w+): (.*)$/gm)];
    return [
      /^\d+/.exec(paper)?.[0] ?? "",
      Object.fromEntries(answers.map(([, letter = "", said = ""]) => [letter, said.includes(key) ? 1 : -0.5])),
    ];
  });
  return JSON.stringify(Object.fromEntries(grades));
}

/** Keeps the sentence on the van alone, under whatever headings the prompt asks for. */
function summaryOf(text: string): string {
  const titles = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  const kept = "- The electric van was chosen, because the old one fails the city's emission rule [#2].";
  return titles.length === 0 ? kept : titles.map((title, at) => `## ${title}\n${at === 2 ? kept : "None."}`).join("\n");
}

/** An endpoint of OpenAI's chat-completions form on this machine. */
export class PlayedEndpoint {
  readonly #server: Server;
  /** The texts that it was asked, and the keys that came with them. */
  readonly asked: { readonly text: string; readonly model: string; readonly key: string | undefined }[] = [];

  private constructor(play: Mind) {
    this.#server = createServer((request, response) => {
      let body = "";
      request.on("data", (data: Buffer) => void (body += data.toString()));
      request.on("end", () => {
        const { messages, model } = JSON.parse(body) as { messages: { content: unknown }[]; model: string };
        const text = messages.map(({ content }) => textOf(content)).join("\n\n");
        this.asked.push({ text, model, key: request.headers.authorization });
        const said = play(text, model);
        if (typeof said !== "string") {
          // Soon enough that no test waits.
          response.writeHead(said.status, { "retry-after": "0.01" }).end(said.body);
          return;
        }
        const usage = { prompt_tokens: 1_000, completion_tokens: 10 };
        if (model === "wise") stream(response, said, usage);
        else whole(response, said, usage);
      });
    });
  }

  static async open(play: Mind = mind): Promise<PlayedEndpoint> {
    const opened = new PlayedEndpoint(play);
    opened.#server.listen(0, "127.0.0.1");
    await once(opened.#server, "listening");
    return opened;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function whole(response: ServerResponse, said: string, usage: object): void {
  const choices = [{ index: 0, message: { role: "assistant", content: said }, finish_reason: "stop" }];
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ choices, usage }));
}

function stream(response: ServerResponse, said: string, usage: object): void {
  const half = Math.ceil(said.length / 2);
  const deltas = [said.slice(0, half), said.slice(half)].map((content) => ({
    choices: [{ index: 0, delta: { content } }],
  }));
  const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage };
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.end(
    [...deltas, last, "[DONE]"]
      .map((each) => `data: ${typeof each === "string" ? each : JSON.stringify(each)}\n\n`)
      .join(""),
  );
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as readonly { readonly text?: string }[]).map(({ text }) => text ?? "").join("");
}
