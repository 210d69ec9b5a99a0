/** The call graph in its pane: when a rank takes two rows of boxes, and what fits it again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { call, encode, model } from "./fixture.ts";
import { point, resize } from "./page.ts";
import { View } from "./shown.ts";
import { Store } from "../src/trace/store.ts";

/** Space between two boxes of a rank, see `chooseLayout`. */
const GAP = 12;

/** A model that calls some others. */
function calling(others: number): View {
  const models = Array.from({ length: others + 1 }, (_, k) => model(`model_${k}`));
  const calls = models.map((_, k) => call(k ? 0 : -1, k, 10 * k));
  const { header, buffer } = encode(calls, { models });
  return new View(Store.of(header, buffer));
}

function boxes(view: View): Element[] {
  return [...view.root.querySelectorAll(".callgraph .frame")];
}

/** Number of rows of boxes in a pane of a width. */
function rowsOfBoxes(others: number, width: number): number {
  resize(".callgraph", width, 300);
  return new Set(boxes(calling(others)).map((each) => each.getAttribute("y"))).size;
}

test("a rank takes two rows where it is more than 1.12 times as wide as the pane without its margins", () => {
  const width = Number(boxes(calling(6))[0].getAttribute("width"));
  const least = Math.ceil((6 * (width + GAP)) / 1.12) + 32;

  assert.deepEqual([rowsOfBoxes(6, least), rowsOfBoxes(6, least - 1)], [2, 3]);
});

test("a double click does what the button does: it fits the graph into its pane", () => {
  const view = calling(2);
  const place = (): string | null => view.find(".callgraph svg > g").getAttribute("transform");
  view.click(view.button("fit"));
  const fitted = place();
  view.click(view.button("+"));
  assert.ok(place() !== fitted);
  point(view.find(".callgraph svg"), "dblclick");

  assert.equal(place(), fitted);
});
