import assert from "node:assert/strict";
import { test } from "node:test";

import { batchFacts } from "../src/facts/batching.ts";
import type { Batching } from "../src/trace/header.ts";
import { selectedBatch } from "../src/session/session.ts";
import { call, traceOf } from "./fixture.ts";

const FULL: Batching = [7, true, "largest size reached", "the largest size 3 was reached", [], 1];

/** A caller, and calls of one model in the executions 7, 7, 7 and 8. */
function fanOut(header: Record<string, Batching[]> = {}, rest = {}) {
  return traceOf(
    [
      call(-1, 0, 0, { execution: 6, compute_infer_us: 100 }),
      ...[7, 7, 7, 8].map((execution, k) =>
        call(0, 1, 10 + k, { execution, batch: execution === 7 ? 3 : 1, ...rest }),
      ),
    ],
    { batching: header },
  );
}

test("the mates of a call are those of the same execution, without itself", () => {
  const facts = batchFacts(fanOut({ 2: [FULL] }), 2);

  assert.deepEqual([facts?.size, facts?.mates], [3, [1, 3]]);
  assert.equal(facts?.because, "the largest size 3 was reached");
  assert.equal(facts?.others, "");
});

test("a call that was alone, of a model without a batcher, has nothing to say", () => {
  assert.equal(batchFacts(fanOut(), 0), null);
  assert.equal(batchFacts(fanOut(), 4), null);
});

test("one execution number belongs to one model", () => {
  const trace = traceOf([call(-1, 0, 0, { execution: 7 }), call(0, 1, 1, { execution: 7 })]);

  assert.equal(batchFacts(trace, 1), null);
});

test("calls that never came to an execution are no mates", () => {
  const trace = traceOf([call(-1, 0, 0), call(0, 1, 1), call(0, 1, 2)]);

  assert.equal(batchFacts(trace, 1), null);
});

test("requests of other runs are counted, and their runs named", () => {
  const entry: Batching = [7, true, "delay over", "the delay of 5 µs was over", ["1", "2"], 1];
  const trace = traceOf([call(-1, 0, 0, { execution: 7, batch: 4 })], { batching: { 0: [entry] } });

  assert.equal(batchFacts(trace, 0)?.others, "3 requests of other runs: runs 1, 2");
});

test("dots follow eight named runs, as more may not be named", () => {
  for (const [count, end] of [[7, "g"], [8, "h, …"]] as const) {
    const runs = [..."abcdefgh"].slice(0, count);
    const entry: Batching = [7, true, "delay over", "the delay of 5 µs was over", runs, 1];
    const trace = traceOf([call(-1, 0, 0, { execution: 7, batch: 10 })], { batching: { 0: [entry] } });

    assert.equal(batchFacts(trace, 0)?.others, `9 requests of other runs: runs ${runs.slice(0, -1).join(", ")}, ${end}`);
  }
});

test("a batch of two is one without a reason, too", () => {
  const pair = [0, 1].map((k) => call(0, 1, k, { execution: 7, batch: 2 }));
  const facts = batchFacts(traceOf([call(-1, 0, 0), ...pair]), 1);

  assert.deepEqual([facts?.size, facts?.mates, facts?.others], [2, [2], ""]);
});

test("why it was not taken along before leads to the call that was", () => {
  const left: Batching = [7, false, "shape differs", "shape of X differs: [3]", [], 1];
  const alone: Batching = [8, true, "instance free", "an instance was free", [], 1];
  const facts = batchFacts(fanOut({ 4: [left, alone] }), 4);

  assert.deepEqual(facts?.apart, [{ words: "shape of X differs: [3]", call: 1 }]);
  assert.deepEqual([facts?.size, facts?.because], [1, "an instance was free"]);
});

test("the batch of a selected call is marked from two calls on", () => {
  const pair = [0, 1].map((k) => call(0, 1, k, { execution: 7, batch: 2 }));
  const trace = traceOf([call(-1, 0, 0), ...pair, call(0, 1, 9, { execution: 8 })]);
  const marked = [1, 3].map((row) => [...selectedBatch({ kind: "call", call: row }, trace)]);

  assert.deepEqual(marked, [[1, 2], []]);
  assert.equal(selectedBatch({ kind: "model", model: 1 }, trace).size, 0);
});

test("a batch of another run leads nowhere, and many are counted", () => {
  for (const times of [2, 12]) {
    const left: Batching = [99, false, "one at a time", "stands behind another", [], times];
    const facts = batchFacts(fanOut({ 4: [left] }), 4);

    const words = `not with ${times} executions before: stands behind another`;
    assert.deepEqual(facts?.apart, [{ words, call: -1 }]);
  }
});

test("a document from before batches were told still has its mates", () => {
  const facts = batchFacts(fanOut({}, { batch: 0 }), 1);

  assert.deepEqual([facts?.size, facts?.mates], [3, [2, 3]]);
});
