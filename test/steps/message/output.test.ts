/** How tools tell that they failed. What tells a failure keeps its words in a view (decision 18). */
import { expect, test } from "vitest";
import { tellsError } from "../../../src/steps/message/message.ts";

const LOG = "The disk is full, and nothing was written.\n".repeat(20);
const said = (text: string) => ({ content: [{ type: "text", text }] });

const FAILED: readonly unknown[] = [
  `Error: ${LOG}`,
  `npm ERR! code ELIFECYCLE\n${LOG}`,
  `FAIL test/ledger.test.ts\n${LOG}`,
  `Process exited with code 2\n${LOG}`,
  `Exit code: 1\n${LOG}`,
  `<tool_use_error>${LOG}</tool_use_error>`,
  `{"success":false,"log":"${LOG}"}`,
  JSON.stringify({ id: 7, isError: true, log: LOG }),
  JSON.stringify({ error: { message: LOG } }),
  { ok: false, log: LOG },
  { success: false, error: LOG },
  { success: false, message: LOG },
  { error: true, message: LOG },
  { errors: [{ message: LOG }], data: null },
  { isError: true, ...said(LOG) },
  { is_error: true, content: LOG },
  { result: { isError: true, ...said(LOG) } },
  { output: { exitCode: 1, stdout: LOG } },
  { exitCode: 1, stdout: LOG },
  { exit_code: 127, output: LOG },
  { returncode: -9, stdout: LOG },
  { code: 1, stdout: "", stderr: LOG },
  { timedOut: true, stdout: LOG },
  { status: "failed", log: LOG },
  { status: 404, body: LOG },
  { type: "error-text", value: LOG },
  said(`Error: ${LOG}`),
  said(JSON.stringify({ ok: false, log: LOG })),
  {
    content: [
      { type: "image", data: "", mimeType: "image/png" },
      { type: "text", text: `Error: ${LOG}` },
    ],
  },
  { type: "content", value: [{ type: "text", text: `Traceback (most recent call last)\n${LOG}` }] },
];

const WORKED: readonly unknown[] = [
  LOG,
  `The file error.ts has no error.\n${LOG}`,
  `Exit code: 0\n${LOG}`,
  JSON.stringify({ ok: true, error: "", log: LOG }),
  JSON.stringify({ builds: [{ id: 1, status: "failed" }], log: LOG }),
  { ok: true, success: true, isError: false, error: null, errors: [], log: LOG },
  { error: "", exitCode: 0, stdout: LOG },
  { exitCode: null, exit_code: "0", stdout: LOG },
  { code: 200, body: LOG },
  { status: 200, body: LOG },
  { status: "ok", builds: [{ status: "failed" }], log: LOG },
  { type: "text", value: LOG },
  [{ error: "of one item" }, LOG],
  said(LOG),
  null,
  undefined,
  7,
];

test("a tool that failed is recognised in each form that many tools have", () => {
  expect(FAILED.filter((output) => !tellsError(output))).toEqual([]);
});

test("what only speaks of errors, or worked, is no failure", () => {
  expect(WORKED.filter(tellsError)).toEqual([]);
});
