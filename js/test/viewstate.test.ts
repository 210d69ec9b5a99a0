import assert from "node:assert/strict";
import { test } from "node:test";

import { anchorOf, placeOf } from "../src/viewstate.ts";
import { call, traceOf } from "./fixture.ts";

const WHOLE = traceOf([call(-1, 0, 0), call(0, 1, 5), call(0, 1, 9), call(0, 2, 9)]);

test("a call is found again by its model and start when rows have other numbers", () => {
  const less = traceOf([call(-1, 0, 0), call(0, 1, 9), call(0, 2, 9)]);
  const anchor = anchorOf(WHOLE, { kind: "call", call: 3 });

  assert.ok(anchor);
  assert.equal(placeOf(WHOLE, anchor, 3), 3);
  assert.equal(placeOf(less, anchor, 3), 2);
});

test("a call that has no row any more is nowhere", () => {
  const anchor = anchorOf(WHOLE, { kind: "call", call: 1 });

  assert.ok(anchor);
  assert.equal(placeOf(traceOf([call(-1, 0, 0)]), anchor, 1), -1);
});

test("only a single call has a place", () => {
  assert.equal(anchorOf(WHOLE, { kind: "model", model: 1 }), null);
  assert.equal(anchorOf(WHOLE, null), null);
});
