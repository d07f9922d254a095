import { bundle } from "./size/bundle.ts";
console.log("ours", (await bundle("ours")).gzipBytes);
