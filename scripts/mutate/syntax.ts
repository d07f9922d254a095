/** The syntax tree of a TypeScript source, without its types. */
import { parseSync } from "vite";

/** The fields of a node (ESTree) that callers read. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Expressions with a type. The value inside is visited, the type is not. */
const CASTS: ReadonlySet<string> = new Set(["TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression"]);

/** Throws where the source cannot be parsed. */
export function parse(fileName: string, source: string): Node {
  const { program, errors } = parseSync(fileName, source);
  if (errors.length > 0) throw new Error(`${fileName} cannot be parsed: ${errors[0]?.message}`);
  return program as unknown as Node;
}

/** Calls `look` with each node of the code, parents first. Types and imports are left out. */
export function visit(node: Node, look: (node: Node) => void): void {
  if (node.type.startsWith("TS") && !CASTS.has(node.type)) return;
  if (node.type === "ImportDeclaration") return;
  look(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, look);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
