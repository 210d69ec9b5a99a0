import assert from "node:assert/strict";
import { test } from "node:test";

import { concurrency, perPixel } from "../src/trace/concurrency.ts";
import { filterOf } from "../src/trace/filter.ts";
import { modelGraph, OTHERS } from "../src/trace/modelgraph.ts";
import { Trace } from "../src/trace/trace.ts";
import { Store } from "../src/trace/store.ts";
import { Flag } from "../src/trace/wire.ts";
import { call, model, random, traceOf } from "./fixture.ts";
import { invoice, sweep } from "./samples.ts";

const long = { compute_infer_us: 100 };

test("own time is what child calls do not cover, overlaps counted once", () => {
  const trace = traceOf([
    call(-1, 0, 0, long),
    call(0, 1, 10, { compute_infer_us: 30 }),
    call(0, 1, 20, { compute_infer_us: 40 }),
    call(0, 2, 80),
  ]);

  assert.deepEqual([...trace.own], [100 - 50 - 10, 30, 40, 10]);
  assert.deepEqual(trace.childIntervals(0), [10, 60, 80, 90]);
});

test("periods of calls are merged in order of their starts", () => {
  const spans = { compute_infer_us: 30 };
  const trace = traceOf([call(-1, 0, 0, long), call(0, 1, 10, spans), call(0, 1, 60, spans)]);

  assert.deepEqual(trace.merged([1, 2]), [[10, 40], [60, 90]]);
  assert.deepEqual(trace.merged([2, 1]), [[10, 40], [60, 90]]);
});

test("a child that outlives its caller covers no more than the caller's time", () => {
  const trace = traceOf([call(-1, 0, 0), call(0, 1, 5, { compute_infer_us: 50 })]);

  assert.equal(trace.own[0], 5);
  assert.equal(trace.wall, 55);
});

test("siblings stand in order of their start, whatever the order of rows", () => {
  const trace = traceOf([call(-1, 0, 0, long), call(0, 1, 50), call(0, 1, 20)]);

  assert.deepEqual([...trace.children(0)], [2, 1]);
});

test("the critical path goes from the last-ending child backwards", () => {
  const trace = traceOf([
    call(-1, 0, 0, long),
    call(0, 1, 5, { compute_infer_us: 30 }),
    call(0, 1, 6, { compute_infer_us: 10 }),
    call(0, 1, 40, { compute_infer_us: 50 }),
    call(3, 2, 45, { compute_infer_us: 20 }),
    call(0, 1, 50, { compute_infer_us: 20 }),
  ]);

  assert.deepEqual([...trace.critical].sort(), [0, 1, 3, 4]);
});

test("a chain of ten thousand calls needs no recursion", () => {
  const size = 10_000;
  const trace = traceOf(
    Array.from({ length: size }, (_, k) => call(k - 1, 0, k, { compute_infer_us: 2 * (size - k) })),
  );

  assert.equal(trace.critical.size, size);
  assert.equal(trace.ancestors(size - 1).length, size - 1);
});

test("concurrency is the exact number of overlapping calls", () => {
  const next = random(7);
  const starts = Array.from({ length: 200 }, () => Math.floor(next() * 100));
  const ends = starts.map((start) => start + Math.floor(next() * 12));
  const steps = concurrency(starts, ends);
  const running = (at: number): number =>
    starts.filter((start, k) => start <= at && at < ends[k]).length;

  steps.times.forEach((at, k) => assert.equal(steps.counts[k], running(at)));
  assert.equal(steps.max, Math.max(...steps.times.map(running)));
});

test("the maximum shown does not depend on the width it is drawn at", () => {
  const { header, buffer } = sweep(2000);
  const trace = new Trace(Store.of(header, buffer));
  const widths = [37, 200, 1111].map((width) =>
    Math.max(...perPixel(trace.concurrency, 0, trace.wall * 1.01, width)),
  );

  assert.deepEqual(widths, [trace.concurrency.max, trace.concurrency.max, trace.concurrency.max]);
});

test("a call that ends where another starts does not run beside it", () => {
  assert.equal(concurrency([0, 10], [10, 20]).max, 1);
});

test("boxes and edges add up to the calls", () => {
  const { header, buffer } = invoice();
  const trace = new Trace(Store.of(header, buffer));
  const { nodes, edges } = modelGraph(trace);
  const recognizer = nodes.find((node) => node.name === "crop_recognizer");
  const stream = edges.find((edge) => edge.streams > 0);

  assert.equal(nodes.length, 9);
  assert.equal(
    nodes.reduce((sum, node) => sum + node.count, 0),
    27,
  );
  assert.equal(
    edges.reduce((sum, edge) => sum + edge.count, 0),
    26,
  );
  assert.deepEqual([recognizer?.count, recognizer?.errors, recognizer?.device], [12, 1, "gpu:0"]);
  assert.equal(stream?.responses, 46);
});

test("over sixty models the small ones share one box and nothing is lost", () => {
  const calls = [call(-1, 0, 0, { compute_infer_us: 1e4 })];
  for (let k = 1; k < 80; k++) calls.push(call(0, k, 10 * k, { compute_infer_us: k }));
  const { nodes, edges } = modelGraph(traceOf(calls));

  assert.equal(nodes.length, 41);
  assert.equal(nodes.find((node) => node.id === OTHERS)?.name, "+40 models");
  assert.equal(
    nodes.reduce((sum, node) => sum + node.count, 0),
    80,
  );
  assert.equal(
    edges.reduce((sum, edge) => sum + edge.count, 0),
    79,
  );
});

test("two versions of a model are told apart, a single one needs no number", () => {
  const models = [model("a", "python", "cpu", 1), model("a", "python", "cpu", 2), model("b")];

  assert.deepEqual(traceOf([call(-1, 2, 0)], { models }).names, ["a v1", "a v2", "b"]);
});

test("the filter means names, devices, states and bounds", () => {
  const { header, buffer } = invoice();
  const trace = new Trace(Store.of(header, buffer));
  const rows = Array.from({ length: trace.n }, (_, k) => k);
  const found = (text: string): number => rows.filter(filterOf(text, trace) ?? (() => true)).length;

  assert.equal(found(" CROP"), 12);
  assert.equal(found("gpu:1"), 8);
  assert.equal(found("error"), 3);
  assert.equal(found("stream"), 1);
  assert.equal(found("> 30ms"), 2);
  assert.equal(found("<1000us"), 3);
  assert.equal(found(""), 27);
  assert.equal(filterOf("  ", trace), null);
});

test("a bound is a time in any unit, in milliseconds without one", () => {
  const trace = traceOf([300, 390, 410, 500].map((us) => call(-1, 0, 0, { compute_infer_us: us })));
  for (const bound of ["0.0004s", "0.4ms", "0.4", "400us", "400µs", "400000ns"]) {
    assert.deepEqual([0, 1, 2, 3].map(filterOf(`<${bound}`, trace)!), [true, true, false, false]);
  }
});

test("a trace without calls is no error", () => {
  const trace = traceOf([]);

  assert.deepEqual(
    [trace.n, trace.wall, modelGraph(trace).nodes, trace.concurrency.max],
    [0, 0, [], 0],
  );
  assert.equal(trace.has(0, Flag.ERROR), false);
});

test("failed calls are found once, of all calls and of some", () => {
  const failed = { flags: Flag.ERROR };
  const trace = traceOf([call(-1, 0, 0), call(0, 1, 5, failed), call(0, 1, 9), call(0, 2, 9, failed)]);
  const some = [2, 3];

  assert.deepEqual(trace.failed, [1, 3]);
  assert.deepEqual(trace.failedOf(some), [3]);
  assert.equal(trace.failedOf(some), trace.failedOf(some));
  assert.deepEqual(traceOf([call(-1, 0, 0)]).failed, []);
});

test("calls of a caller are in the order of their starts, however they were sent", () => {
  for (const starts of [[1, 2, 3, 4], [4, 1, 3, 2], [2, 4, 1, 3], [4, 3, 2, 1]]) {
    const trace = traceOf([call(-1, 0, 0), ...starts.map((start) => call(0, 1, start))]);
    assert.deepEqual(Array.from(trace.children(0), (each) => trace.start(each)), [1, 2, 3, 4]);
  }
});

test("an id that is not shown was dropped, is only counted, or never was", () => {
  const dropped = { calls: { calls: 1, because: "", notice: "", last: 1 } };
  const folded = [[0, 1, 2, 0, 9, 1, 2, []]] as never;
  const ids = (rest: object): number[] => {
    const run = { id: "r", title: "", request_id: "", state: "done" as const, ...rest };
    const trace = traceOf([call(-1, 0, 0), call(0, 1, 1)], { run });
    return [-1, 0, 1, 2, 4, 5].filter((id) => trace.wasDropped(id));
  };

  assert.deepEqual(ids({ calls: 5 }), []);
  assert.deepEqual(ids({ calls: 5, folded: [] }), []);
  assert.deepEqual(ids({ calls: 5, dropped }), [0, 1]);
  assert.deepEqual(ids({ calls: 5, folded }), [0, 1, 2, 4]);
});
