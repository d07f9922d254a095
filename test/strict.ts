/**
 * A platform as strict as production. The local one takes values several times as large, so a test on it alone would not notice them.
 *
 * Each breach is refused, as production refuses it, and remembered for the test that looks at the end. docs/limits.md has the sources.
 */
import type { WorkflowStep } from "cloudflare:workers";

const MIB = 1024 * 1024;

/** The limits of production that the local platform does not hold. */
export const LIMITS = {
  /** Bytes of a text or blob in a statement's parameter, and of a row. */
  valueBytes: 2_000_000,
  /** Parameters of one statement, and bytes of its text. */
  parameters: 100,
  statementBytes: 100_000,
  /** Bytes of a step's result and of an instance's params. */
  resultBytes: MIB,
  paramsBytes: MIB,
  /** Characters of a step's name and of an instance's id. */
  stepNameChars: 256,
  instanceIdChars: 100,
  /** Connections of an instance at once, and its steps on the free plan. Each step has one connection, to the agent or to a model. */
  connections: 6,
  steps: 1_024,
  /** Bytes of what one call passes or returns. */
  rpcBytes: 32 * MIB,
  /** Milliseconds of processor time of a call, and bytes of an isolate. What is read without a pause stands for what is held at once. */
  callMs: 30_000,
  memoryBytes: 128_000_000,
  /** Calls of one instance to the agent and to models. */
  subrequests: 10_000,
} as const;

/** What was refused, in the order in which it happened. Shared with the Worker under test, which is in the same isolate. */
export const breaches = ((globalThis as { palimpsestBreaches?: string[] }).palimpsestBreaches ??= []);

const INSTANCE_ID = /^[a-zA-Z0-9_][a-zA-Z0-9-_]*$/;

function refuse(what: string): never {
  breaches.push(what);
  throw new Error(`Production refuses this: ${what}`);
}

function bytesOf(value: unknown): number {
  if (typeof value === "string") return new TextEncoder().encode(value).byteLength;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  return 8;
}

function jsonBytes(value: unknown): number {
  return value === undefined ? 0 : bytesOf(JSON.stringify(value) ?? "");
}

/** Throws for a statement that production would not run. */
export function checkStatement(query: string, parameters: readonly unknown[]): void {
  const sizes = parameters.map(bytesOf);
  const most = Math.max(0, ...sizes);
  const sum = sizes.reduce((all, each) => all + each, 0);
  if (parameters.length > LIMITS.parameters) refuse(`${parameters.length} parameters`);
  if (bytesOf(query) > LIMITS.statementBytes) refuse(`a statement of ${bytesOf(query)} bytes`);
  if (most > LIMITS.valueBytes) refuse(`a value of ${most} bytes`);
  if (/^\s*(?:INSERT|REPLACE)\b/.test(query) && sum > LIMITS.valueBytes) refuse(`a row of ${sum} bytes`);
}

/** What an object does without a pause, in which nobody else is answered. */
export interface Stretch {
  readonly began: number;
  bytes: number;
}

/** Throws where production would have stopped the object. */
export function checkStretch({ began, bytes }: Stretch, now: number): void {
  if (now - began > LIMITS.callMs) refuse(`${Math.round(now - began)} ms without a pause`);
  if (bytes > LIMITS.memoryBytes) refuse(`${bytes} bytes read without a pause`);
}

let open: Stretch | null = null;

function stretch(): Stretch {
  if (open === null) queueMicrotask(() => (open = null));
  return (open ??= { began: performance.now(), bytes: 0 });
}

/** Texts are counted by their characters, because most are plain and all are read by the thousand. */
function sizeOf(row: Record<string, SqlStorageValue>): number {
  return Object.values(row).reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0);
}

/** An object's state whose statements are checked, those of the SDK included. */
export function strictState(ctx: DurableObjectState): DurableObjectState {
  const { sql } = ctx.storage;
  const exec = sql.exec.bind(sql);
  Object.defineProperty(sql, "exec", {
    configurable: true,
    writable: true,
    value: (query: string, ...parameters: unknown[]) => {
      checkStatement(query, parameters);
      const now = stretch();
      const cursor = exec(query, ...parameters);
      const toArray = cursor.toArray.bind(cursor);
      cursor.toArray = () => {
        const rows = toArray();
        now.bytes += rows.reduce((sum, row) => sum + sizeOf(row), 0);
        checkStretch(now, performance.now());
        return rows;
      };
      return cursor;
    },
  });
  return ctx;
}

/** The params of every instance, by its id. */
export const instances = ((globalThis as { palimpsestInstances?: Map<string, unknown> }).palimpsestInstances ??=
  new Map());
const calls = new Map<string, number>();

/** Counts a call of an instance to its agent, and one to a model where the step asked one. */
export function checkSubrequests(id: string, made: number): void {
  const all = (calls.get(id) ?? 0) + made;
  calls.set(id, all);
  if (all > LIMITS.subrequests) refuse(`${all} subrequests of ${id}`);
}

/** An environment whose Workflow refuses ids and params that production refuses. An id is never used for a second run. */
export function strictWorkflow(workflow: Workflow): Workflow {
  return new Proxy(workflow, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (key !== "create") return typeof value === "function" ? (value as () => unknown).bind(target) : value;
      return async (options: WorkflowInstanceCreateOptions) => {
        const { id = "", params } = options;
        if (id.length > LIMITS.instanceIdChars || !INSTANCE_ID.test(id)) refuse(`the instance id "${id}"`);
        if (jsonBytes(params) > LIMITS.paramsBytes) refuse(`params of ${jsonBytes(params)} bytes`);
        const before = instances.get(id);
        if (before !== undefined && JSON.stringify(before) !== JSON.stringify(params))
          refuse(`the id "${id}" for another run`);
        // Production throws for an id that it has, which is no breach, because the agent may not have learned that it was created.
        if (before !== undefined && (await isThere(target, id))) throw new Error("(instance.already_exists)");
        instances.set(id, params);
        return target.create(options);
      };
    },
  });
}

async function isThere(workflow: Workflow, id: string): Promise<boolean> {
  return workflow.get(id).then(
    () => true,
    () => false,
  );
}

/** The steps of an instance, whose names and results are checked. The engine's object is a stub, so its methods are only called. */
export function strictStep(step: WorkflowStep): WorkflowStep {
  const open = { now: 0, steps: 0 };
  const calls = step as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  return new Proxy({} as WorkflowStep, {
    get: (_, key) => {
      const method = String(key);
      if (method !== "do") return (...args: unknown[]) => calls[method]?.(...args);
      return async (name: string, ...rest: unknown[]) => {
        if (name.length > LIMITS.stepNameChars) refuse(`a step name of ${name.length} characters`);
        if (++open.steps > LIMITS.steps) refuse(`${open.steps} steps`);
        if (++open.now > LIMITS.connections) refuse(`${open.now} connections at once`);
        const result = await calls["do"]?.(name, ...rest).finally(() => open.now--);
        if (jsonBytes(result) > LIMITS.resultBytes) refuse(`a step result of ${jsonBytes(result)} bytes`);
        return result;
      };
    },
  });
}

/** What a call passes or returns. The local platform holds this limit too, and here a test learns of it. */
export function checkRpc<Value>(value: Value): Value {
  if (jsonBytes(value) > LIMITS.rpcBytes) refuse(`an RPC value of ${jsonBytes(value)} bytes`);
  return value;
}
