import assert from "node:assert/strict";
import { test } from "node:test";

import { FOLD_FROM, Rows, type Row } from "../src/session/rows.ts";
import { Trace } from "../src/trace/trace.ts";
import { Store } from "../src/trace/store.ts";
import { call, traceOf, type Call } from "./fixture.ts";
import { invoice, sweep } from "./samples.ts";

function sampleTrace({ header, buffer }: ReturnType<typeof invoice>): Trace {
  return new Trace(Store.of(header, buffer));
}

function unfoldAll(rows: Rows): void {
  for (let k = 0; k < rows.list.length; k++)
    if (rows.hasChildren(rows.list[k])) rows.toggle(rows.list[k], true);
}

function singles(rows: Rows): Set<number> {
  return new Set(rows.list.filter((row: Row) => row.kind === "call").map((row) => row.calls[0]));
}

test("repeated calls of one model from one caller fold, fewer do not", () => {
  const rows = new Rows(sampleTrace(invoice()));
  rows.openDefault(24);
  const shown = rows.list.map(
    (row) => `${row.kind} ${rows.trace.names[row.model]} ${row.calls.length}`,
  );

  assert.equal(FOLD_FROM, 4);
  assert.deepEqual(shown, [
    "call invoice_pipeline 1",
    "call decode_image 1",
    "call text_detector 1",
    "call layout_model 1",
    "fold crop_recognizer 12",
    "call rerank 1",
    "fold embedder 6",
    "call llm_extract 1",
    "call schema_check 1",
    "call schema_check 1",
    "call schema_check 1",
  ]);
});

test("every call can be reached by unfolding", () => {
  for (const sample of [invoice(), sweep(400)]) {
    const rows = new Rows(sampleTrace(sample));
    unfoldAll(rows);

    assert.equal(singles(rows).size, rows.trace.n);
  }
});

test("unfolding and folding again restores the rows", () => {
  const rows = new Rows(sampleTrace(sweep(300)));
  rows.openDefault(24);
  const before = rows.list.map((row) => row.key);
  for (const row of rows.list.filter((each) => rows.hasChildren(each) && !rows.isOpen(each))) {
    rows.toggle(row, true);
    rows.toggle(row, false);
  }

  assert.deepEqual(
    rows.list.map((row) => row.key),
    before,
  );
});

test("revealing a call unfolds its path, also through nested folds", () => {
  const rows = new Rows(sampleTrace(sweep(500)));
  for (let at = 0; at < rows.trace.n; at += 17) {
    const row = rows.reveal(at);

    assert.equal(row?.kind, "call");
    assert.deepEqual(row?.calls, [at]);
    assert.equal(rows.list[row?.index ?? -1], row);
  }
});

test("a fold of callers shows their callees summed, then the single calls", () => {
  const calls: Call[] = [call(-1, 0, 0, { compute_infer_us: 1000 })];
  for (let k = 0; k < 5; k++) {
    calls.push(call(0, 1, 100 * k, { compute_infer_us: 50 }));
    calls.push(call(calls.length - 1, 2, 100 * k + 5));
  }
  const rows = new Rows(traceOf(calls));
  rows.openDefault(24);
  const kinds = rows.list.map(
    (row) => `${row.depth} ${row.kind} m${row.model} ${row.calls.length}`,
  );

  assert.deepEqual(kinds, ["0 call m0 1", "1 fold m1 5", "2 fold m2 5", "2 calls m1 5"]);
});

test("keys of rows are unique even where one call is shown twice", () => {
  const rows = new Rows(sampleTrace(sweep(300)));
  unfoldAll(rows);

  assert.equal(new Set(rows.list.map((row) => row.key)).size, rows.list.length);
});

test("what is unfolded stays so when the trace grows", () => {
  const early = [call(-1, 0, 0, { compute_infer_us: 100 }), call(0, 1, 5)];
  const rows = new Rows(traceOf(early));
  rows.openDefault(24);
  const later = new Rows(traceOf([...early, call(0, 2, 20)]), rows.open);

  assert.equal(later.list.length, 3);
});
