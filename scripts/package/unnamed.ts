/**
 * Writes the functions and the inner classes of the package as expressions without a name.
 *
 * wrangler bundles with `keepNames`, so esbuild wraps each function and class that is declared, or assigned to a variable or a
 * property, in a call that stores its name. In a chat Worker that is 9 KiB after gzip. esbuild leaves `(0, () => {})` alone.
 *
 * Three kinds of classes keep their names: one that extends another, because the Agents SDK and error handlers read it, one that a
 * subpath exports, and one with static members, which may need the name before the variable has a value.
 */
import type { Rolldown } from "tsdown";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface FunctionNode extends Node {
  readonly id: Node | null;
  readonly generator: boolean;
  readonly async: boolean;
  readonly params: readonly Node[];
  readonly body: Node & { readonly body: readonly Node[] };
}

interface ClassNode extends Node {
  readonly id: Node | null;
  readonly superClass: Node | null;
  readonly body: { readonly body: readonly (Node & { readonly static?: boolean })[] };
}

export function unnamed(): Rolldown.Plugin {
  return {
    name: "unnamed",
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter(
        (file): file is Rolldown.OutputChunk => file.type === "chunk" && file.fileName.endsWith(".js"),
      );
      const open = new Set(chunks.flatMap(({ isEntry, exports }) => (isEntry ? exports : [])));
      for (const chunk of chunks) {
        refuseCircle(chunk.fileName, bundle);
        chunk.code = withoutNames(chunk.code, this.parse(chunk.code), open);
      }
    },
  };
}

/** A declared function may be called before its chunk ran, a constant may not. Without circles no chunk calls one too early. */
function refuseCircle(fileName: string, bundle: Rolldown.OutputBundle): void {
  const seen = new Set<string>();
  const visit = (name: string): void => {
    const file = bundle[name];
    if (file?.type !== "chunk" || seen.has(name)) return;
    seen.add(name);
    if (file.imports.includes(fileName)) throw new Error(`${fileName} imports itself by way of ${name}.`);
    file.imports.forEach(visit);
  };
  visit(fileName);
}

/** `program` is the syntax tree of `code`. The classes in `open` keep their names. */
export function withoutNames(code: string, program: Node, open: ReadonlySet<string>): string {
  /** The text of a node, where `replaced` gives the text of some of its children. */
  const write = (node: Node, replaced: (child: Node) => string | null = () => null): string => {
    let text = "";
    let at = node.start;
    for (const child of childrenOf(node)) {
      if (child.start < at) continue;
      text += code.slice(at, child.start) + (replaced(child) ?? anonymous(child, node) ?? emit(child));
      at = child.end;
    }
    return text + code.slice(at, node.end);
  };
  const emit = (node: Node): string => {
    if (node.type !== "Program" && node.type !== "BlockStatement" && node.type !== "FunctionBody") return write(node);
    const declared = childrenOf(node).filter(({ type }) => type === "FunctionDeclaration") as FunctionNode[];
    if (declared.length === 0) return write(node);
    const rest = write(node, (child) => (child.type === "FunctionDeclaration" ? "" : null));
    const constants = declared.map((each) => `${nameOf(each)}=(0,${expression(each)})`).join(",");
    return node.type === "Program" ? `const ${constants};${rest}` : `{const ${constants};${rest.slice(1)}`;
  };
  const nameOf = ({ id }: FunctionNode): string => (id === null ? "" : code.slice(id.start, id.end));
  const expression = (each: FunctionNode): string => {
    const parameters = each.params.map(emit).join(",");
    const before = each.async ? "async" : "";
    if (each.generator) return `${before} function*(${parameters})${emit(each.body)}`.trimStart();
    if (hasOwnThis(each)) return `${before} function(${parameters})${emit(each.body)}`.trimStart();
    const isPlain = each.params.length === 1 && each.params[0]?.type === "Identifier";
    const list = isPlain ? `${before === "" ? "" : `${before} `}${parameters}` : `${before}(${parameters})`;
    return `${list}=>${returned(each) ?? emit(each.body)}`;
  };
  /** The expression of a function that does nothing but return it, or null. */
  const returned = ({ body: { body } }: FunctionNode): string | null => {
    const { argument = null } = (body[0] ?? {}) as { readonly argument?: Node | null };
    if (body.length !== 1 || body[0]?.type !== "ReturnStatement" || argument === null) return null;
    const text = emit(argument);
    return argument.type === "SequenceExpression" || text.startsWith("{") ? `(${text})` : text;
  };
  /** The text of a node that its parent would give a name, or null. */
  const anonymous = (node: Node, parent: Node): string | null => {
    if (!givesName(parent, node)) return null;
    if (node.type === "ArrowFunctionExpression") return `(0,${emit(node)})`;
    if (node.type === "FunctionExpression" && (node as FunctionNode).id === null) return `(0,${emit(node)})`;
    if (node.type !== "ClassExpression" || !isInner(node as ClassNode, parent)) return null;
    return `(0,${emit(node)})`;
  };
  const isInner = ({ id, superClass, body }: ClassNode, parent: Node): boolean => {
    const name = parent.type === "VariableDeclarator" ? (parent as Node & { readonly id: Node }).id : null;
    if (id !== null || name === null || superClass !== null) return false;
    return !open.has(code.slice(name.start, name.end)) && !body.body.some((member) => member.static === true);
  };
  return emit(program);
}

/** Whether JavaScript names an anonymous function or class after the place in which it stands. */
function givesName(parent: Node, node: Node): boolean {
  const { type } = parent;
  if (type === "VariableDeclarator") return (parent as Node & { readonly id: Node }).id.type === "Identifier";
  if (type === "AssignmentExpression" || type === "AssignmentPattern") {
    const { left, right } = parent as Node & { readonly left: Node; readonly right: Node };
    return right === node && left.type === "Identifier";
  }
  if (type === "PropertyDefinition") return (parent as Node & { readonly value: Node | null }).value === node;
  if (type !== "Property") return false;
  const { value, kind, method } = parent as Node & {
    readonly value: Node;
    readonly kind: string;
    readonly method: boolean;
  };
  return value === node && kind === "init" && !method;
}

function hasOwnThis(node: Node): boolean {
  return childrenOf(node).some((child) => {
    if (child.type === "ThisExpression" || child.type === "MetaProperty") return true;
    if (child.type === "Identifier" && (child as Node & { readonly name: string }).name === "arguments") return true;
    const isScope = /^(?:Function(?:Expression|Declaration)|Class\w+|PropertyDefinition|StaticBlock)$/.test(child.type);
    return !isScope && hasOwnThis(child);
  });
}

function childrenOf(node: Node): Node[] {
  const values = Object.values(node).flatMap((value: unknown): unknown[] => (Array.isArray(value) ? value : [value]));
  return values.filter(isNode).toSorted((a, b) => a.start - b.start);
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value && "end" in value;
}
