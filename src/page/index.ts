/** `palimpsest/page` serves the page from a Worker of your own. Its files are a part of the module. */
export { createPage, type Page, type PageGuard, type PageOptions } from "./create-page.ts";
