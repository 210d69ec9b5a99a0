import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { count, counted, time } from "../src/page/format.ts";
import { modelGraph } from "../src/trace/modelgraph.ts";
import { Trace } from "../src/trace/trace.ts";
import type { Header, TensorEntry } from "../src/trace/header.ts";
import { Store } from "../src/trace/store.ts";
import { ownBuffer } from "../src/trace/wire.ts";

// Written by the Python side, python -m tests.views.golden_run.
const FOLDER = new URL("../../tests/views/golden/", import.meta.url);
const header = JSON.parse(
  new TextDecoder().decode(readFileSync(new URL("run27.json", FOLDER))),
) as Header;
const buffer = ownBuffer(readFileSync(new URL("run27.bin", FOLDER)));
const tree = new TextDecoder().decode(readFileSync(new URL("run27.txt", FOLDER))).split("\n");
const trace = new Trace(Store.of(header, buffer));

test("what Python wrote is read as the same numbers, in the same words", () => {
  const { title, request_id } = header.run;
  const facts = [
    `${time(trace.wall)} wall`,
    counted(trace.n, "call"),
    counted(header.models.length, "model"),
    counted(trace.errors, "error"),
  ];

  assert.equal(`${title} · request ${request_id}: ${facts.join(", ")}`, tree[0]);
});

test("calls, failures and total times of the models are those of Python's tree", () => {
  const written = tree.slice(1).filter((line) => line.trim() && !line.includes("! "));
  for (const node of modelGraph(trace).nodes) {
    const [, name, calls = "1", us, failed = "0"] =
      written.map(parse).find(([, each]) => each === node.name) ?? [];
    const total = trace.calls.model.reduce(
      (sum, id, call) => sum + (id === node.id ? trace.duration[call] : 0),
      0,
    );

    assert.deepEqual([name, calls, failed], [node.name, count(node.count), String(node.errors)]);
    // Python rounds a tie to the even digit, JavaScript up.
    assert.ok(Math.abs(Number(us) * 1000 - total) <= 0.01 * total, name);
  }
});

/** Name, calls, milliseconds, failures of a line of the tree. */
function parse(line: string): (string | undefined)[] {
  return [...(/^ *(\S+)(?: ×(\d+))? {2}([\d.]+) ms(?: {2}(\d+) failed)?$/.exec(line) ?? [])];
}

test("every embedded preview lies within the buffer and has the size it says", () => {
  const previews = Object.values(header.tensors)
    .flat()
    .flatMap((entry: TensorEntry) => [entry.preview, entry.grid ?? null]);
  const drawn = previews.filter((each) => each !== null && each.kind !== "text");

  assert.ok(drawn.length > 0);
  for (const each of drawn) {
    const [offset, size] = each.data;
    assert.equal(size, each.rows * each.columns * (each.kind === "image" ? 3 : 1));
    assert.ok(offset + size <= buffer.byteLength);
  }
});
