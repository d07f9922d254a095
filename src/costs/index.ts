/** `palimpsest/costs`, what each conversation costs and what it would have cost without compaction, as a room of an agent. */
export type { ModelPrices, PriceList } from "./sums.ts";
export { costs, type CostMethods, type CostsOptions, type CostsExtension } from "./room.ts";
export type { Costs, ModelCosts } from "./sums.ts";
