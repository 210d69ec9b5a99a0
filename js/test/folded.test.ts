import assert from "node:assert/strict";
import { test } from "node:test";

import type { FoldedEntry } from "../src/folded.ts";
import { modelGraph } from "../src/modelgraph.ts";
import type { Call } from "./fixture.ts";
import { call, traceOf } from "./fixture.ts";

/** One caller and three of its calls; the others are only counted. */
const LOOP = [
  call(-1, 0, 0, { compute_infer_us: 1000 }),
  ...[10, 30, 50].map((at) => call(0, 1, at)),
];
const GONE: FoldedEntry[] = [[0, 1, 40, 2, 400]];

function folded(calls: Call[], entries: FoldedEntry[]) {
  const run = { id: "r", title: "m0", request_id: "", state: "done" as const, folded: entries };
  return traceOf(calls, { run });
}

test("boxes and edges count the calls that have no rows", () => {
  const { nodes, edges } = modelGraph(folded(LOOP, GONE));

  assert.deepEqual(
    nodes.map(({ count, errors, own }) => [count, errors, own]),
    [
      [1, 0, 1000 - 30 - 400],
      [43, 2, 430],
    ],
  );
  assert.deepEqual([edges[0].count, edges[0].errors], [43, 2]);
});

test("a fold that holds all calls of its kind stands for those without rows too", () => {
  const trace = folded(LOOP, GONE);

  assert.deepEqual(trace.folded.beside([1, 2, 3]), { calls: 40, errors: 2, us: 400 });
  assert.equal(trace.folded.beside([1, 2]), null);
  assert.equal(trace.folded.beside([0]), null);
});

test("where one model was called from two places, neither fold claims what was counted", () => {
  const again = [call(-1, 0, 2000), call(4, 1, 2001)];
  const trace = folded([...LOOP, ...again], GONE);

  assert.equal(trace.folded.beside([1, 2, 3]), null);
  assert.deepEqual(trace.folded.of(1), { calls: 40, errors: 2, us: 400 });
});

test("requests from outside that are only counted have no caller to take time from", () => {
  const trace = folded([call(-1, 0, 0), call(-1, 0, 20)], [[-1, 0, 5, 0, 50]]);

  assert.deepEqual(trace.folded.beside([0, 1]), { calls: 5, errors: 0, us: 50 });
  assert.equal(modelGraph(trace).nodes[0].count, 7);
});

test("a run that holds all its calls counts none", () => {
  const trace = traceOf(LOOP);

  assert.equal(trace.folded.of(1), null);
  assert.equal(trace.folded.beside([1, 2, 3]), null);
});
