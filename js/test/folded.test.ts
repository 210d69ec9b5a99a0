import { penOf } from "./page.ts";

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Colours } from "../src/page/theme.ts";
import { Plane } from "../src/timeline/plane.ts";
import { TimeRange } from "../src/timeline/range.ts";
import { Strip } from "../src/timeline/strip.ts";
import type { FoldedEntry } from "../src/trace/folded.ts";
import { modelGraph } from "../src/trace/modelgraph.ts";
import type { Call } from "./fixture.ts";
import { call, traceOf } from "./fixture.ts";

/** One caller and three of its calls; the others are only counted. */
const LOOP = [
  call(-1, 0, 0, { compute_infer_us: 1000 }),
  ...[10, 30, 50].map((at) => call(0, 1, at)),
];
const GONE: FoldedEntry[] = [[0, 1, 40, 2, 400]];

/** An old file does not say when they ran, or how long each. */
const SUM = { calls: 40, errors: 2, us: 400, from: Infinity, to: 0, latencies: [] };

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

  assert.deepEqual(trace.folded.beside([1, 2, 3]), SUM);
  assert.equal(trace.folded.beside([1, 2]), null);
  assert.equal(trace.folded.beside([0]), null);
});

test("where one model was called from two places, neither fold claims what was counted", () => {
  const again = [call(-1, 0, 2000), call(4, 1, 2001)];
  const trace = folded([...LOOP, ...again], GONE);

  assert.equal(trace.folded.beside([1, 2, 3]), null);
  assert.deepEqual(trace.folded.of(1), SUM);
});

test("requests from outside that are only counted have no caller to take time from", () => {
  const trace = folded([call(-1, 0, 0), call(-1, 0, 20)], [[-1, 0, 5, 0, 50]]);

  assert.deepEqual(trace.folded.beside([0, 1]), { ...SUM, calls: 5, errors: 0, us: 50 });
  assert.equal(modelGraph(trace).nodes[0].count, 7);
});

test("a run that holds all its calls counts none", () => {
  const trace = traceOf(LOOP);

  assert.equal(trace.folded.of(1), null);
  assert.equal(trace.folded.beside([1, 2, 3]), null);
});

test("what is known of calls without rows: when they ran, and how many took how long", () => {
  const took: [number, number][] = [[8 * 13, 30], [8 * 14, 10]];
  const entries: FoldedEntry[] = [[0, 1, 40, 0, 400, 60, 900, took]];
  const trace = folded(LOOP, entries);
  const { from, to, latencies } = trace.folded.beside([1, 2, 3])!;

  assert.deepEqual([from, to], [60, 900]);
  assert.deepEqual(
    latencies.map(([us, calls]) => [us.toFixed(1), calls]),
    [
      ["8.6", 30],
      ["17.1", 10],
    ],
  );
  assert.deepEqual(trace.folded.stretches, [{ from: 60, to: 900, level: 400 / 840 }]);
});

test("the time of calls without rows is none of their caller's own, if there is one only", () => {
  const entries: FoldedEntry[] = [[0, 1, 40, 0, 400, 55, 900, []]];

  assert.deepEqual(folded(LOOP, entries).childIntervals(0), [10, 20, 30, 40, 50, 900]);
  const twice = [...LOOP, call(-1, 0, 2000, { compute_infer_us: 10 })];
  assert.deepEqual(folded(twice, entries).childIntervals(0), [10, 20, 30, 40, 50, 60]);
});

test("calls without rows are as high in the strip as their share of the most concurrent calls", () => {
  const entries: FoldedEntry[] = [[0, 1, 40, 0, 400, 55, 900, []]];
  const areas = [LOOP, [...LOOP, ...[1, 2, 3].map(() => call(-1, 0, 0, { compute_infer_us: 1000 }))]].map((calls) => {
    const trace = folded(calls, entries);
    const range = new TimeRange();
    range.grow(1000);
    const strip = new Strip(range, () => undefined);
    strip.paint(trace, new Plane(range, 0, 1000, 1000), {} as Colours);
    const painted = penOf(strip.element).painted.find((line) => line.endsWith("at 0.22"))!;
    return { height: Number(painted.split(" ").at(-3)), most: trace.concurrency.max };
  });
  const [few, many] = areas;
  assert.ok(few.most < many.most);
  assert.ok(Math.abs(few.height * few.most - many.height * many.most) < 0.1);
});
