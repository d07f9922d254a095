/** The built page as a module, which scripts/build-page.ts writes. package.json says where it is. */
declare module "#page-files" {
  export const files: Readonly<Record<string, { readonly type: string; readonly body: string }>>;
}
