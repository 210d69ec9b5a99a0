import assert from "node:assert/strict";
import { test } from "node:test";

import { filterOf } from "../src/trace/filter.ts";
import { dims, litModels, pathTo, relevanceOf } from "../src/session/relevance.ts";
import { Rows } from "../src/session/rows.ts";
import { Trace } from "../src/trace/trace.ts";
import { Store } from "../src/trace/store.ts";
import { invoice } from "./samples.ts";

const { header, buffer } = invoice();
const trace = new Trace(Store.of(header, buffer));

function bright(filter: string, model: number | null = null): string[] {
  const rows = new Rows(trace);
  rows.openDefault(24);
  const selection = model === null ? null : ({ kind: "model", model } as const);
  const relevance = relevanceOf(trace, filterOf(filter, trace), selection, null);
  const shown = rows.list.filter((row) => !dims(relevance, row, rows.isOpen(row)));
  return shown.map((row) => trace.names[row.model]);
}

test("a filter leaves bright the calls it means, and folds that hide one", () => {
  assert.deepEqual(bright("error"), ["crop_recognizer", "schema_check", "schema_check"]);
  assert.deepEqual(bright("rerank"), ["rerank"]);
  assert.equal(bright("").length, 11);
});

test("a selected model leaves its calls bright and those that led to them", () => {
  assert.deepEqual(bright("", 6), ["invoice_pipeline", "rerank", "embedder"]);
});

test("a call's path is the edges from the request to it", () => {
  const embedder = trace.calls.model.indexOf(6);

  assert.deepEqual(pathTo(trace, { kind: "call", call: embedder }), [
    { from: 0, to: 5 },
    { from: 5, to: 6 },
  ]);
  assert.equal(pathTo(trace, { kind: "model", model: 6 }), null);
});

test("a box of many models keeps the rows of all of them bright", () => {
  const rows = new Rows(trace);
  const hovered = relevanceOf(trace, null, null, { models: [2, 5] });
  const selected = relevanceOf(trace, null, { kind: "models", models: [2, 5] }, null);

  assert.deepEqual(hovered, selected);
  const bright = rows.children(rows.list[0]).filter((row) => !dims(hovered, row, false));
  assert.deepEqual(new Set(bright.map((row) => row.model)), new Set([2, 5]));
});

test("hovering a call leaves its kin and the selected model bright in the graph", () => {
  const rerank = trace.calls.model.indexOf(5);
  const lit = litModels(trace, null, { kind: "model", model: 2 }, { call: rerank });

  assert.deepEqual([...(lit ?? [])].sort(), [0, 2, 5, 6]);
  assert.equal(litModels(trace, null, null, null), null);
});

test("a model may have a name that every object knows", () => {
  const named = structuredClone(header);
  named.models[0].name = "constructor";
  const wanted = filterOf("constructor", new Trace(Store.of(named, buffer)))!;

  assert.deepEqual([wanted(0), wanted(1)], [true, false]);
});
