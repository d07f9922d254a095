/** The interface of one case of the benchmark. */
import type { Finding } from "./report/finding.ts";
import type { Lab } from "./lab/lab.ts";

export interface Case {
  /** In kebab case, as `--only` takes it. */
  readonly name: string;
  /** True when figures are times or otherwise differ between measurements. The case is then measured twice, to show the noise. */
  readonly timed: boolean;
  /** In a `quick` lab it uses the smallest inputs that go through all the same parts. */
  readonly measure: (lab: Lab) => Promise<Finding>;
}
