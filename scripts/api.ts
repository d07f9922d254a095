/** Writes docs/api.md from the table of calls (`npm run api`). A test compares the page with the table. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { apiPage } from "./api/page.ts";

writeFileSync(resolve(import.meta.dirname, "../docs/api.md"), apiPage());
