/**
 * Generates small defects of a source, one for each place where a developer slips.
 *
 * Takes text, returns edits of it and runs nothing. Safe because edits are made from the parsed source. A comment, a string or a type is
 * never taken for code, and each mutant still parses.
 */
import { parse, visit, type Node } from "./syntax.ts";

export interface Mutant {
  /** Offsets in the source where the edit begins and ends. */
  readonly start: number;
  readonly end: number;
  /** Counted from 1. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
  readonly kind: MutantKind;
}

export type MutantKind = "comparison" | "logic" | "arithmetic" | "constant" | "condition" | "statement" | "return";

const COMPARISONS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
};
const LOGIC: Readonly<Record<string, string>> = { "&&": "||", "||": "&&" };
const ARITHMETIC: Readonly<Record<string, string>> = { "+": "-", "-": "+", "*": "/", "/": "*", "%": "*" };

/** Every mutant of a TypeScript source, ordered by position. */
export function findMutants(fileName: string, source: string): Mutant[] {
  const found: Mutant[] = [];
  const lines = lineStarts(source);
  const add = (kind: MutantKind, { start, end }: Pick<Node, "start" | "end">, after: string): void => {
    const line = lines.findLastIndex((at) => at <= start) + 1;
    found.push({ start, end, line, before: source.slice(start, end), after, kind });
  };
  visit(parse(fileName, source), (node) => mutate(node, source, add));
  return found.toSorted((one, other) => one.start - other.start);
}

/** The source with one defect. */
export function applyMutant(source: string, { start, end, after }: Mutant): string {
  return source.slice(0, start) + after + source.slice(end);
}

type Add = (kind: MutantKind, place: Pick<Node, "start" | "end">, after: string) => void;

function mutate(node: Node, source: string, add: Add): void {
  const text = (of: Node): string => source.slice(of.start, of.end);
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
      swapOperator(node, source, add);
      break;
    case "Literal":
      if (typeof node["value"] === "number") add("constant", node, `(${text(node)} + 1)`);
      if (typeof node["value"] === "boolean") add("constant", node, String(!node["value"]));
      break;
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement": {
      const test = node["test"] as Node;
      if (!isComparison(test)) add("condition", test, `!(${text(test)})`);
      break;
    }
    case "ExpressionStatement":
      // A directive is no statement, and a call of super must stay.
      if (node["directive"] == null && !text(node).startsWith("super")) add("statement", node, ";");
      break;
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression": {
      const body = node["body"] as Node | null;
      if (body?.type === "BlockStatement" && (body["body"] as Node[]).length > 0) {
        add("return", { start: body.start + 1, end: body.start + 1 }, " return undefined;");
      }
      break;
    }
    default:
  }
}

function swapOperator(node: Node, source: string, add: Add): void {
  const operator = String(node["operator"]);
  const [left, right] = [node["left"] as Node, node["right"] as Node];
  const kinds = [
    ["comparison", COMPARISONS],
    ["logic", LOGIC],
    ["arithmetic", ARITHMETIC],
  ] as const;
  for (const [kind, swaps] of kinds) {
    const other = swaps[operator];
    if (other === undefined || (operator === "+" && joinsText(left, right))) continue;
    const start = source.indexOf(operator, left.end);
    // Both operands get brackets, because mixed logic without brackets would not parse.
    if (kind === "logic")
      add(kind, node, `(${source.slice(left.start, left.end)}) ${other} (${source.slice(right.start, right.end)})`);
    else add(kind, { start, end: start + operator.length }, other);
  }
}

function isComparison({ type, operator }: Node): boolean {
  return type === "BinaryExpression" && typeof operator === "string" && operator in COMPARISONS;
}

function joinsText(...operands: readonly Node[]): boolean {
  return operands.some(({ type, value }) => type === "TemplateLiteral" || typeof value === "string");
}

function lineStarts(source: string): readonly number[] {
  const starts = [0];
  for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
