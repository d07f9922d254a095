/** Writes docs/api.md: every call of an agent, from the table of calls itself. `npm run api`; a test holds the page to it. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { apiPage } from "./api/page.ts";

writeFileSync(resolve(import.meta.dirname, "../docs/api.md"), apiPage());
