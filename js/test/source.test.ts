import assert from "node:assert/strict";
import { test } from "node:test";

import { beginningOf } from "../src/inspector/source.ts";

const LINES = `
def answer(self, request):
    response = pb_utils.InferenceRequest(
        model_name="reader",
        inputs=[
            pb_utils.Tensor("X", x),
        ],
    ).exec()
    return response
`
  .trim()
  .split("\n");

test("a statement of several lines begins where its bracket was opened", () => {
  assert.equal(beginningOf(LINES, 7), 2);
  assert.equal(beginningOf(LINES, 6), 4);
});

test("a line that closes no bracket is its own beginning", () => {
  assert.equal(beginningOf(LINES, 3), 3);
  assert.equal(beginningOf(LINES, 8), 8);
  assert.equal(beginningOf([")"], 1), 1);
});

test("a statement may begin in the line before, and in the first line", () => {
  assert.equal(beginningOf(["answer = ask(", ")"], 2), 1);
});

test("a statement of more than twelve further lines begins at its end", () => {
  const statement = (inner: number): string[] => [
    "answer = ask(",
    ...Array.from({ length: inner }, (_, k) => `    argument_${k},`),
    ")",
  ];

  assert.equal(beginningOf(statement(11), 13), 1);
  assert.equal(beginningOf(statement(12), 14), 14);
});
