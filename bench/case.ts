/** What one case of the benchmark is. */
import type { Finding } from "./finding.ts";
import type { Lab } from "./lab.ts";

export interface Case {
  /** In kebab case: what `--only` takes. */
  readonly name: string;
  /** True when figures are times, or others that differ from one measurement to the next: they are measured twice, so that noise is seen. */
  readonly timed: boolean;
  /** In a lab that is `quick`, the smallest inputs that go through all the same parts. */
  readonly measure: (lab: Lab) => Promise<Finding>;
}
