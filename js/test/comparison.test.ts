import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Comparison, total } from "../src/trace/comparison.ts";
import { deltaText, shortDelta, signOf, toneOf } from "../src/page/delta.ts";
import { filterOf } from "../src/trace/filter.ts";
import { time } from "../src/page/format.ts";
import { modelGraph } from "../src/trace/modelgraph.ts";
import { dims, relevanceOf } from "../src/session/relevance.ts";
import { Rows, type Row } from "../src/session/rows.ts";
import { Trace } from "../src/trace/trace.ts";
import type { Header } from "../src/trace/header.ts";
import { Store } from "../src/trace/store.ts";
import { ownBuffer } from "../src/trace/wire.ts";
import { call, random, traceOf } from "./fixture.ts";

// Written by the Python side, python -m tests.views.golden_run.
const FOLDER = new URL("../../tests/views/golden/", import.meta.url);
const read = (name: string): Uint8Array => readFileSync(new URL(name, FOLDER));
const header = JSON.parse(new TextDecoder().decode(read("compared.json"))) as Header;
const trace = new Trace(Store.of(header, ownBuffer(read("compared.bin"))));
const comparison = trace.comparison!;
const text = new TextDecoder().decode(read("compared.txt")).split("\n");

function shown(rows: Rows): string[] {
  return rows.list.map(({ kind, model, calls, missing }) =>
    kind === "missing"
      ? `-${rows.trace.comparison!.baseline.name(missing[0])}${missing.length}`
      : `${rows.trace.names[model]}${calls.length}`,
  );
}

function newCalls({ comparison, n }: Trace): number {
  return Array.from({ length: n }, (_, k) => comparison!.isNew(k)).filter(Boolean).length;
}

function unfoldAll(rows: Rows): void {
  for (let k = 0; k < rows.list.length; k++)
    if (rows.hasChildren(rows.list[k])) rows.toggle(rows.list[k], true);
}

test("a time within five per cent or 20 µs of the baseline's is alike", () => {
  const signs = [1050, 950, 1060, 940].map((now) => signOf(now, 1000));
  assert.deepEqual(signs, ["≈", "≈", "▲", "▼"]);
  assert.deepEqual([0, 20, 21].map((now) => signOf(now, 0)), ["≈", "≈", "▲"]);
  assert.equal(signOf(20, 41), "▼");
  assert.equal(deltaText(7260, 11380), "▼ −4.12 ms");
  assert.equal(deltaText(39200, 33600), "▲ +5.60 ms");
  assert.equal(shortDelta(39200, 33600), "▲ 5.60 ms");
  assert.equal(toneOf("new"), "infer");
});

test("what Python compared is read as the same calls, in the same words", () => {
  const [headline] = text;
  const { baseline } = comparison;
  const [changed, added, missing, notCompared] = trace.header.counts!;

  const counts = `${changed} changed, ${added} new, ${missing} missing, ${notCompared} not compared`;
  assert.equal(comparison.changed.size, changed);
  assert.equal(newCalls(trace), added);
  assert.ok(headline.endsWith(`vs ${time(baseline.wall)} baseline, ${counts}`));
  const detector = trace.names.indexOf("text_detector");
  const at = trace.calls.model.indexOf(detector);
  const words = deltaText(trace.duration[at], baseline.duration[comparison.before(at)]);
  assert.ok(text.includes(`    text_detector  ${time(trace.duration[at])}  ${words}`));
  const [tensor] = comparison.change(at)!.tensors;
  assert.ok(tensor[3].startsWith("1 of 76,800 differ; most by 0.25 at"));
});

test("a run that stands alone is compared with nothing", () => {
  const alone = traceOf([call(-1, 0, 0), call(0, 1, 1)]);

  assert.equal(alone.comparison, null);
  assert.equal(modelGraph(alone).nodes[0].before, undefined);
  assert.equal(filterOf("changed", alone)!(0), false);
});

test("missing calls are rows where they once started", () => {
  const rows = new Rows(trace);
  rows.openDefault(24);

  assert.deepEqual(shown(rows), [
    "invoice_pipeline1",
    "decode_image1",
    "text_detector1",
    "layout_model1",
    "crop_recognizer12",
    "rerank1",
    "embedder6",
    "llm_extract1",
    "schema_check1",
    "schema_check1",
    "-schema_check1",
    "audit1",
  ]);
  const missing = rows.list.find((row) => row.kind === "missing")!;
  assert.deepEqual([missing.calls.length, missing.model, rows.hasChildren(missing)], [0, -1, false]);
  assert.deepEqual(
    rows.list.slice(-2).map(({ position, siblings }) => [position, siblings]),
    [
      [9, 10],
      [10, 10],
    ],
  );
});

test("a missing call stands before the rows that start later, and after one that starts with it", () => {
  const baseline = traceOf([call(-1, 0, 0), call(0, 3, 5), call(0, 4, 20), call(0, 5, 40)]);
  const left = traceOf([call(-1, 0, 0), call(0, 1, 10), call(0, 2, 20)]);
  const beside = new Comparison(baseline, { of: Int32Array.of(0, -1, -1), missing: [1, 2, 3] });
  const rows = new Rows(Object.assign(left, { comparison: beside }));
  rows.toggle(rows.list[0], true);

  const starts = rows.list.slice(1).map(({ kind, calls, missing }) =>
    kind === "missing" ? `missing at ${baseline.start(missing[0])}` : `at ${left.start(calls[0])}`,
  );
  assert.deepEqual(starts, ["missing at 5", "at 10", "at 20", "missing at 20", "missing at 40"]);
});

/** A random tree of calls, each made by one before it. */
function tree(next: () => number, size: number): Trace {
  const calls = Array.from({ length: size }, (_, k) =>
    call(k === 0 ? -1 : Math.floor(next() * k), k === 0 ? 0 : 1 + Math.floor(next() * 3), k * 10, {
      compute_infer_us: 5,
    }),
  );
  return traceOf(calls);
}

/** Calls without a random part of them, each with all below it, beside the whole. */
function reduced(next: () => number, baseline: Trace): { trace: Trace; kept: number[] } {
  const kept: number[] = [];
  const { parent, model, start_us } = baseline.calls;
  for (let k = 0; k < baseline.n; k++)
    if (k === 0 || (kept.includes(parent[k]) && next() < 0.7)) kept.push(k);
  const trace = traceOf(kept.map((k) => call(kept.indexOf(parent[k]), model[k], start_us[k])));
  const missing = Array.from({ length: baseline.n }, (_, k) => k).filter((k) => !kept.includes(k));
  const beside = new Comparison(baseline, { of: Int32Array.from(kept), missing });
  return { trace: Object.assign(trace, { comparison: beside }), kept };
}

test("every missing call can be reached by unfolding", () => {
  const next = random(7);
  for (let round = 0; round < 60; round++) {
    const baseline = tree(next, 2 + Math.floor(next() * 40));
    const { trace: left, kept } = reduced(next, baseline);
    const rows = new Rows(left);
    unfoldAll(rows);

    const found = new Set(rows.list.flatMap((row: Row) => [...row.missing]));
    const all = Array.from({ length: baseline.n }, (_, k) => k);
    const single = all.filter((k) => !kept.includes(k) && !found.has(k));
    assert.deepEqual(single, []);
    assert.equal(found.size, baseline.n - kept.length);
    assert.equal(new Set(rows.list.map((row) => row.key)).size, rows.list.length);
  }
});

test("boxes tell own time now and before, and which model is new", () => {
  const nodes = new Map(modelGraph(trace).nodes.map((node) => [node.name, node]));

  assert.equal(nodes.get("audit")!.before, null);
  const extract = nodes.get("llm_extract")!;
  assert.equal(shortDelta(extract.own, extract.before!), "▲ 5.60 ms");
});

test("the filter knows changed and new calls, and leaves missing ones aside", () => {
  const rows = new Rows(trace);
  rows.openDefault(24);
  const bright = (words: string): string[] => {
    const relevance = relevanceOf(trace, filterOf(words, trace), null, null);
    return rows.list
      .filter((row) => !dims(relevance, row, rows.isOpen(row)))
      .map((row) => trace.names[row.model]);
  };

  assert.deepEqual(bright("changed"), ["invoice_pipeline", "text_detector", "schema_check"]);
  assert.deepEqual(bright("new"), ["audit"]);
});

test("a baseline that does not fit its pairing is no reason to fail", () => {
  const [, , count] = header.columns.baseline;
  const odd = new Int32Array(count).fill(9999);
  const store = Store.of(header, ownBuffer(read("compared.bin")));
  store.compared = { of: odd, missing: [0] };

  assert.equal(newCalls(new Trace(store)), count);
  assert.equal(total(trace, []), 0);
});

test("a call that the baseline only counts is neither new nor paired", () => {
  const baseline = traceOf([call(-1, 0, 0), call(0, 1, 1)]);
  const of = Int32Array.from([0, -2, 1, -1]);
  const unknown: Record<string, [number, number][]> = { "still running": [[2, 5]] };
  const beside = new Comparison(baseline, { of, missing: [], unknown });

  assert.deepEqual([0, 1, 2, 3].map((each) => beside.isNew(each)), [false, false, false, true]);
  assert.deepEqual([0, 1, 2, 3].map((each) => beside.isCounted(each)), [false, true, false, false]);
  assert.deepEqual(beside.beforeAll([0, 1, 2, 3]), [0, 1]);
  assert.deepEqual([beside.unknown(1), beside.unknown(3)], ["", "still running"]);
});

test("calls that were not compared in full have the reason, and those beside them have none", () => {
  const same = traceOf([call(-1, 0, 0), call(0, 1, 1), call(0, 1, 2), call(0, 1, 3)]);
  const compared = new Comparison(same, { of: Int32Array.of(0, 1, 2, 3), missing: [], unknown: { "no values": [[1, 1]], "too large": [[3, 9]] } });

  assert.deepEqual([0, 1, 2, 3, 4].map((each) => compared.unknown(each)), ["", "no values", "", "too large", ""]);
  assert.ok(compared.isNew(4));
});

test("the baseline's own time of a model includes calls that are only counted, and its caller's excludes them", () => {
  const folded = [[0, 1, 40, 0, 70, 1, 2, []]] as unknown as NonNullable<Header["run"]["folded"]>;
  const of = (whole: number): Comparison => {
    const run = { id: "r", title: "m0", request_id: "", state: "done" as const, folded, calls: 42 };
    return new Comparison(traceOf([call(-1, 0, 0, { compute_infer_us: whole }), call(0, 1, 1)], { run }), { of: new Int32Array(2), missing: [] });
  };

  assert.deepEqual(["m0", "m1", "m2"].map((name) => of(100).ownOf(name)), [20, 80, null]);
  assert.equal(of(30).ownOf("m0"), 0, "clocks are not exact");
});
