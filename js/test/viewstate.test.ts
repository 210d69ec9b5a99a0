import assert from "node:assert/strict";
import { test } from "node:test";

import { found, held, hoveredIn } from "../src/session/viewstate.ts";
import { Rows } from "../src/session/rows.ts";
import { call, model, traceOf } from "./fixture.ts";

const [A, B, C] = [model("a"), model("b"), model("c")];
const WHOLE = traceOf([call(-1, 0, 0), call(0, 1, 5), call(0, 1, 9), call(0, 2, 9)], {
  models: [A, B, C],
});
/** The same run when call 1 was dropped, and its models are numbered otherwise. */
const LESS = traceOf(
  [call(-1, 0, 0), call(0, 2, 9), call(0, 1, 9)],
  { models: [A, C, B] },
  [0, 2, 3],
);

test("a call is found by its id when calls before it were dropped", () => {
  const kept = held(WHOLE, { kind: "call", call: 3 });

  assert.deepEqual(kept, { kind: "call", id: 3 });
  assert.deepEqual(found(WHOLE, kept), { kind: "call", call: 3 });
  assert.deepEqual(found(LESS, kept), { kind: "call", call: 2 });
  assert.equal(LESS.name(2), WHOLE.name(3));
});

test("a call that was dropped stays selected by its id, and returns with it", () => {
  const kept = held(WHOLE, { kind: "call", call: 1 });
  const gone = found(LESS, kept);

  assert.deepEqual(gone, { kind: "dropped", id: 1 });
  assert.deepEqual(found(WHOLE, held(LESS, gone)), { kind: "call", call: 1 });
});

test("a model, models and a fold are found by name, whatever their numbers are", () => {
  const fold = { kind: "fold", key: "k", model: 1, calls: [1, 2] } as const;

  assert.deepEqual(found(LESS, held(WHOLE, { kind: "model", model: 2 })), {
    kind: "model",
    model: 1,
  });
  assert.deepEqual(found(LESS, held(WHOLE, { kind: "models", models: [1, 2] })), {
    kind: "models",
    models: [2, 1],
  });
  assert.deepEqual(found(LESS, held(WHOLE, fold)), { ...fold, model: 2, calls: [1] });
  assert.equal(found(LESS, held(WHOLE, null)), null);
});

test("what the pointer is over is found again as well", () => {
  assert.deepEqual(hoveredIn(LESS, WHOLE, { call: 3 }), { call: 2 });
  assert.equal(hoveredIn(LESS, WHOLE, { call: 1 }), null);
  assert.deepEqual(hoveredIn(LESS, WHOLE, { models: [2] }), { models: [1] });
});

test("rows that are unfolded stay unfolded when calls before them were dropped", () => {
  const calls = [call(-1, 0, 0), ...Array.from({ length: 12 }, (_, k) => call(0, 1, k + 1))];
  const whole = traceOf([...calls, call(12, 2, 13)], { models: [A, B, C] });
  const rows = new Rows(whole);
  rows.reveal(13);
  const kept = [0, 1, 8, 9, 10, 11, 12];
  const less = traceOf(
    [...kept.map((at) => calls[at]), call(12, 2, 13)],
    { models: [A, B, C] },
    [...kept, 13],
  );
  const again = new Rows(less, rows.open);

  assert.ok(rows.list.some((row) => row.calls[0] === 13));
  assert.ok(again.list.some((row) => less.id(row.calls[0]) === 13));
});
