import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsOf, shortened } from "../src/tensors/cells.ts";
import type { GridPreview } from "../src/trace/header.ts";

function grid(rows: number, columns: number, values?: string[]): GridPreview {
  const of: [number, number] = [rows, columns];
  return { kind: "grid", index: [], rows, columns, of, data: [0, 1], low: 0, high: 1, reduced: "", values };
}

test("a vector of few numbers goes on in the next line, a table keeps its columns", () => {
  const values = ["1"];

  assert.deepEqual(
    [grid(1, 3, values), grid(1, 48, values), grid(4, 5, values)].map(columnsOf),
    [3, 6, 5],
  );
});

test("what has too many columns or no values is drawn", () => {
  assert.equal(columnsOf(grid(2, 7, ["1"])), 0);
  assert.equal(columnsOf(grid(2, 2)), 0);
  assert.equal(columnsOf({ ...grid(8, 8), kind: "image", layout: "HWC" }), 0);
});

test("no number is longer than a cell is wide", () => {
  assert.deepEqual(["-0.08056123", "1234.5678", "-1234.5678", "-12345.678"].map(shortened), [
    "-0.0806",
    "1234.6",
    "-1234.6",
    "-12346",
  ]);
});

test("long numbers are rounded, words are not", () => {
  assert.deepEqual(
    ["17", "-0.125", "0.30000000000000004", "-1.2345678e-17", "9007199254740993", "True", "nan", "-inf"].map(
      shortened,
    ),
    ["17", "-0.125", "0.30000", "-1.2e-17", "9.0e+15", "True", "nan", "-inf"],
  );
});
