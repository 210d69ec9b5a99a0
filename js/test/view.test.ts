/** What the view draws of whole runs, and what changes when a reader acts on it. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { drawn, Story } from "./drawing.ts";
import { call, encode, model } from "./fixture.ts";
import { nextFrame, point, preferDark, press, resize } from "./page.ts";
import { View } from "./shown.ts";
import { Store } from "../src/trace/store.ts";
import { ownBuffer } from "../src/trace/wire.ts";

const FOLDER = new URL("../../tests/views/golden/", import.meta.url);

function stored(name: string): Store {
  const text = new TextDecoder().decode(readFileSync(new URL(`${name}.json`, FOLDER)));
  return Store.of(JSON.parse(text), ownBuffer(readFileSync(new URL(`${name}.bin`, FOLDER))));
}

test("a run is drawn with its graph, its timeline and the first call's facts", () => {
  const view = new View(stored("run27"));
  const story = new Story(view.frame.element, { whole: true });
  for (const name of ["text_detector", "crop_recognizer", "llm_extract", "schema_check"]) {
    view.click(view.row(name));
    story.step(`click on the row of ${name}`);
  }
  view.click(view.row("crop_recognizer").querySelector(".triangle")!);
  story.step("unfold crop_recognizer");
  view.click(view.row("crop_recognizer", 3));
  story.step("click on its third call");
  for (const name of ["embedder", "rerank"]) {
    view.click(view.box(name));
    story.step(`click on the box of ${name}`);
  }
  view.click(view.button("invoice_pipeline"));
  story.step("click on its caller in the inspector");
  story.equals("run");
});

/** Number of rows of boxes of a model that calls some others. */
function rowsOfBoxes(others: number): number {
  const models = Array.from({ length: others + 1 }, (_, k) => model(`model_${k}`));
  const calls = models.map((_, k) => call(k ? 0 : -1, k, 10 * k));
  const { header, buffer } = encode(calls, { models });
  const frames = new View(Store.of(header, buffer)).root.querySelectorAll(".callgraph .frame");
  return new Set([...frames].map((each) => each.getAttribute("y"))).size;
}

test("boxes side by side that are little wider than the pane stay in one row, more take two", () => {
  assert.deepEqual([rowsOfBoxes(6), rowsOfBoxes(7)], [2, 3]);
});

test("every key does what the help says", () => {
  const view = new View(stored("run27"));
  const story = new Story(view.frame.element);
  const tree = view.find("[role=tree]");
  const keys = [
    ...["ArrowDown", "ArrowDown", "End", "ArrowUp", "PageUp", "Home", "PageDown", "n", "n", "n"],
    ...["ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight", "f", "+", "-", "c", "c", "0", "="],
  ];
  for (const key of keys) {
    press(tree, key);
    story.step(`press ${key}`);
  }
  for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft"]) {
    press(tree, key, { shiftKey: true });
    story.step(`press Shift and ${key}`);
  }
  press(tree, "?");
  story.step("press ?");
  press(view.find(".help"), "Escape");
  story.step("press Escape in the help");
  press(tree, "Escape");
  story.step("press Escape");
  for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp", "Enter"]) {
    press(view.root.activeElement?.closest("[role=button]") ?? view.box("invoice"), key);
    story.step(`press ${key} in the graph`);
  }
  story.equals("keys");
});

test("the help is closed by its keys and its button, and by no other key", () => {
  const view = new View(stored("run27"));
  const tree = view.find("[role=tree]");
  for (const close of [() => press(view.find(".help"), "Escape"), () => press(view.find(".help"), "?"), () => view.click(view.button("close"))]) {
    press(tree, "?");
    press(view.find(".help"), "ArrowDown");
    assert.ok(view.find(".help"));
    close();
    assert.equal(view.find(".help"), null);
    assert.equal(view.root.activeElement, tree);
  }
});

test("a printed page has the width of paper, and afterwards its own again", () => {
  const { element } = new View(stored("run27")).frame;
  const widths = ["beforeprint", "afterprint", "beforeprint", "afterprint"].map((event) => {
    globalThis.dispatchEvent(new Event(event));
    return element.style.maxWidth === "";
  });

  assert.deepEqual(widths, [false, true, false, true]);
});

test("a view in the place of another one shows the same", () => {
  const before = new View(stored("run27"));
  const tree = before.find("[role=tree]");
  before.click(before.row("crop_recognizer").querySelector(".triangle")!);
  before.click(before.row("crop_recognizer", 3));
  for (const key of ["f", "-", "c"]) press(tree, key);
  for (const [border, key] of [["Width", "ArrowLeft"], ["Height", "ArrowDown"]])
    press(before.find(`[role=separator][aria-label^=${border}]`), key);
  const filter = before.find("input[type=search]") as HTMLInputElement;
  filter.value = "crop";
  point(filter, "input");
  tree.scrollTop = 30;
  before.click(before.find(".tensor .head[aria-expanded=false]"));
  const shown = (view: View): unknown => {
    point(view.find("[role=tree]"), "scroll");
    return [
      [".toolbar", ".timeline", ".inspector"].map((pane) => drawn(view.find(pane))),
      ["--graph", "--side"].map((size) => view.find(".panes").style.getPropertyValue(size)),
      view.frame.state,
    ];
  };
  const expected = shown(before);

  assert.deepEqual(shown(new View(stored("run27"), { state: before.frame.state })), expected);
});

test("a held key acts once, and arrows repeat", () => {
  const view = new View(stored("run27"));
  const tree = view.find("[role=tree]");
  const selected = (): string | undefined => tree.querySelector("[aria-selected=true]")?.id;
  const hold = (key: string): void => {
    for (const repeat of [false, true, true]) press(view.root.activeElement ?? tree, key, { repeat });
  };
  press(tree, "Home");
  const first = selected();
  hold("ArrowDown");
  assert.ok(selected() !== first);
  hold("Enter");
  assert.equal(view.root.activeElement, view.find(".inspector"));
  hold("Escape");
  assert.equal(view.root.activeElement, tree);
  assert.ok(selected(), "the selection stays");
  hold("?");
  assert.equal(view.root.activeElement, view.find(".help"));
  hold("Escape");
  assert.ok(selected(), "the help is closed, and the selection stays");
  hold("c");
  assert.equal(view.button("critical path").getAttribute("aria-pressed"), "true");
});

test("a key that is held from the timeline on is not typed into the filter", () => {
  const view = new View(stored("run27"));
  const tree = view.find("[role=tree]");
  const filter = view.find(".filter");
  assert.equal(press(tree, "/"), false);
  assert.equal(view.root.activeElement, filter);
  assert.equal(press(filter, "/", { repeat: true }), false);
  assert.equal(press(filter, "c"), true);
  assert.equal(press(filter, "c", { repeat: true }), true);
  assert.equal(press(filter, "Escape"), false);
  press(tree, "Home");
  assert.equal(press(tree, "Escape", { repeat: true }), false);
  assert.ok(tree.querySelector("[aria-selected=true]"), "the selection stays");
});

test("a page down ends at the last row, and a page up at the first one", () => {
  const view = new View(stored("run27"));
  const tree = view.find("[role=tree]");
  const selected = (): string => tree.querySelector("[aria-selected=true]")?.id ?? "";

  for (const [end, back, page] of [["End", "ArrowUp", "PageDown"], ["Home", "ArrowDown", "PageUp"]]) {
    press(tree, end);
    const row = selected();
    press(tree, back);
    assert.ok(selected() !== row);
    press(tree, page);
    assert.equal(selected(), row);
  }
});

test("keys with Ctrl belong to the browser, and the others to the view", () => {
  const view = new View(stored("run27"));
  const tree = view.find("[role=tree]");

  assert.equal(press(tree, "f", { ctrlKey: true }), true);
  assert.equal(press(tree, "f", { metaKey: true }), true);
  assert.equal(press(tree, "f", { altKey: true }), true);
  assert.equal(press(tree, "q"), true);
  assert.equal(press(tree, "f"), false);
  assert.equal(press(view.box("rerank"), "ArrowUp", { ctrlKey: true }), true);
  assert.equal(press(view.box("rerank"), "ArrowUp"), false);
});

test("a filter dims rows and boxes, and Escape ends it", () => {
  const view = new View(stored("run27"));
  const story = new Story(view.frame.element);
  const filter = view.find(".filter") as HTMLInputElement;
  const texts = ["embed", "error", "stream", "async", ">10ms", "<1 ms", ">900us", "gpu:1", "batched"];
  for (const text of texts) {
    filter.value = text;
    filter.dispatchEvent(new Event("input"));
    nextFrame();
    story.step(`filter by ${text}`);
  }
  press(filter, "n");
  story.step("type n");
  press(filter, "Enter");
  story.step("press Enter");
  press(filter, "Escape");
  story.step("press Escape");
  story.equals("filter");
});

test("the pointer shows what it is over, zooms, pans and moves borders", () => {
  const view = new View(stored("run27"));
  const story = new Story(view.frame.element);
  for (const [name, x] of [["invoice", 300], ["crop_recognizer", 380], ["llm_extract", 500], ["schema_check", 700]] as const) {
    point(view.row(name), "pointermove", x, 40);
    story.step(`over the bar of ${name}`);
  }
  point(view.row("rerank"), "pointermove", 100, 230);
  story.step("over a name");
  for (const [name, x, y] of [["crop_recognizer", 300, 180], ["schema_check", 1080, 590]] as const) {
    point(view.box(name), "pointermove", x, y);
    story.step(`over the box of ${name}`);
  }
  point(view.box("schema_check"), "pointerleave");
  story.step("out of the box");
  const tree = view.find("[role=tree]");
  const wheel: [string, Record<string, unknown>][] = [
    ["Ctrl and the wheel", { ctrlKey: true, deltaY: -300 }],
    ["Shift and the wheel", { shiftKey: true, deltaY: 120 }],
    ["the wheel to the side", { deltaX: -60 }],
    ["the wheel", { deltaY: 40 }],
  ];
  for (const [title, options] of wheel) {
    const scrolls = point(tree, "wheel", 400, 50, options as PointerEventInit);
    assert.equal(scrolls, title === "the wheel", `${title} scrolls the page`);
    story.step(title);
  }
  const strip = view.find(".strip");
  const drag = (from: number, to: number): void => {
    point(strip, "pointerdown", from);
    point(strip, "pointermove", to);
    point(strip, "pointerup", to);
  };
  drag(300, 420);
  story.step("drag over the strip");
  drag(600, 602);
  story.step("click on the strip");
  point(strip, "dblclick");
  story.step("double click on the strip");
  for (const splitter of view.root.querySelectorAll<HTMLElement>("[role=separator]")) {
    point(splitter, "pointerdown", 500, 300);
    point(splitter, "pointermove", 460, 340);
    point(splitter, "pointerup", 460, 340);
    story.step(`drag the border ${splitter.getAttribute("aria-label")}`);
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
      press(splitter, key);
      story.step(`press ${key} on it`);
    }
    for (const [x, y] of [[0, 0], [1000, 900]] as const) {
      point(splitter, "pointerdown", 500, 300);
      point(splitter, "pointermove", x, y);
      point(splitter, "pointerup", x, y);
      story.step(`drag it to ${x} ${y}`);
    }
  }
  story.equals("pointer");
});

test("the graph zooms, moves and fits", () => {
  const view = new View(stored("run27"));
  const story = new Story(view.find(".callgraph"));
  for (const text of ["+", "+", "−"]) {
    view.click(view.button(text));
    story.step(`click on ${text}`);
  }
  const picture = view.find(".callgraph svg");
  point(picture, "wheel", 200, 100, { ctrlKey: true, deltaY: -100 } as PointerEventInit);
  story.step("Ctrl and the wheel");
  point(picture, "wheel", 200, 100, { deltaY: -100 } as PointerEventInit);
  story.step("the wheel");
  point(picture, "pointerdown", 200, 100);
  point(picture, "pointermove", 230, 140);
  point(picture, "pointerup", 230, 140);
  story.step("drag");
  view.click(view.button("fit"));
  story.step("click on fit");
  story.equals("graph");
});

test("a view follows its width, and the theme of its page", () => {
  const view = new View(stored("run27"));
  const story = new Story(view.frame.element);
  resize(".view", 600, 600);
  resize(".callgraph", 560, 260);
  resize(".tree", 450, 308);
  nextFrame();
  story.step("a width of 600 pixels");
  resize(".view", 1100, 600);
  resize(".callgraph", 800, 260);
  resize(".tree", 800, 308);
  nextFrame();
  story.step("1100 pixels again");
  preferDark(true);
  nextFrame();
  story.step("the system prefers dark colours");
  preferDark(false);
  nextFrame();
  story.equals("width");
});

test("a comparison is drawn beside its baseline", () => {
  const view = new View(stored("compared"));
  const story = new Story(view.frame.element, { whole: true });
  for (const name of ["text_detector", "llm_extract", "layout_model", "rerank", "audit"]) {
    view.click(view.row(name));
    story.step(`click on the row of ${name}`);
  }
  for (const number of [0, 1, 2]) {
    view.click(view.row("schema_check", number));
    story.step(`click on row ${number + 1} of schema_check`);
  }
  point(view.row("schema_check", 2), "pointermove", 700, 200);
  story.step("over the missing call");
  view.click(view.row("crop_recognizer"));
  story.step("click on the row of crop_recognizer");
  view.click(view.box("schema_check"));
  story.step("click on the box of schema_check");
  const filter = view.find(".filter") as HTMLInputElement;
  for (const text of ["changed", "new"]) {
    filter.value = text;
    filter.dispatchEvent(new Event("input"));
    nextFrame();
    story.step(`filter by ${text}`);
  }
  story.equals("compared");
});
