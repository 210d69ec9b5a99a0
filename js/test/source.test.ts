import assert from "node:assert/strict";
import { test } from "node:test";

import { beginningOf } from "../src/source.ts";

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
