/** Objects made of parts. Each part has methods of one concern, and the whole has them all. */

/** The public members of a class, for the interface of its whole. */
export type Methods<Part> = { [Name in keyof Part]: Part[Name] };

const namesOf = new WeakMap<object, readonly (readonly [name: string, isGetter: boolean])[]>();

/** Gives `whole` the methods and getters of `part`. A method that returns its part, as a builder does, returns the whole instead. */
export function addMethods(whole: object, part: object): void {
  for (const [name, isGetter] of membersOf(Object.getPrototypeOf(part) as object)) {
    const read = (): unknown => (part as Record<string, unknown>)[name];
    const call = (...args: unknown[]): unknown => {
      const answer = (read() as (...args: unknown[]) => unknown).apply(part, args);
      return answer === part ? whole : answer;
    };
    Object.defineProperty(
      whole,
      name,
      isGetter ? { get: read, configurable: true } : { value: call, configurable: true },
    );
  }
}

function membersOf(prototype: object): readonly (readonly [name: string, isGetter: boolean])[] {
  const known = namesOf.get(prototype);
  if (known !== undefined) return known;
  const found = new Map<string, boolean>();
  for (let each = prototype; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (name !== "constructor" && !found.has(name)) found.set(name, "get" in property);
    }
  }
  const members = [...found];
  namesOf.set(prototype, members);
  return members;
}
