/** A view of a running run whose pointer is pressed: what is below it stays until the click. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { call, encode, model } from "./fixture.ts";
import { nextFrame } from "./page.ts";
import { View } from "./shown.ts";
import { Store } from "../src/trace/store.ts";
import { Flag } from "../src/trace/wire.ts";

mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });

/** A run whose calls have taken a time, and have these flags. */
function stored(infer: number, flags: number): Store {
  const calls = [call(-1, 0, 0, { flags, compute_infer_us: 2 * infer }), call(0, 1, 10, { flags, compute_infer_us: infer })];
  const state = flags ? ("running" as const) : ("done" as const);
  const run = { id: "r-1", title: "pipeline", request_id: "", state };
  const { header, buffer } = encode(calls, { models: [model("pipeline"), model("reader")], run });
  return Store.of(header, buffer);
}

function running(): View {
  return new View(stored(100, Flag.RUNNING));
}

function pointer(view: View, type: string): void {
  view.find(".panes").dispatchEvent(new Event(type, { bubbles: true, composed: true }));
}

const PLACES: [place: string, find: (view: View) => Element | string][] = [
  ["a row", (view) => view.row("reader").querySelector(".names")!],
  ["a box", (view) => view.box("reader").textContent!],
  ["the inspector", (view) => view.find(".inspector h3")],
];

for (const [place, find] of PLACES) {
  test(`${place} changes after the pointer is released, not before the click`, () => {
    const view = running();
    const before = find(view);

    pointer(view, "pointerdown");
    view.frame.show(stored(300, 0));
    nextFrame();
    assert.equal(find(view), before, "still pressed");

    pointer(view, "pointerup");
    assert.equal(find(view), before, "the click follows");
    mock.timers.tick(1);
    nextFrame();
    assert.equal(find(view) === before, false);
  });
}

test("a view that is redrawn while the pointer is pressed shows the end of its run afterwards", () => {
  const view = running();
  pointer(view, "pointerdown");
  view.frame.show(stored(300, 0));
  view.frame.draw();
  pointer(view, "pointerup");
  mock.timers.tick(1);

  assert.equal(view.frame.trace.header.run.state, "done");
  assert.equal(view.frame.trace.duration[1], 300);
});

test("a menu that takes the release of the pointer does not stop the view", () => {
  const view = running();
  pointer(view, "pointerdown");
  pointer(view, "contextmenu");
  mock.timers.tick(1);
  view.frame.show(stored(300, 0));

  assert.equal(view.frame.trace.duration[1], 300);
});
