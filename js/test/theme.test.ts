/** Which theme a view takes, when it is drawn anew, and how it moves in a page. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { nextFrame, point, preferDark, press } from "./page.ts";
import { h, svg } from "../src/page/dom.ts";
import { Moving } from "../src/live/moving.ts";
import { everyFrame } from "../src/page/repaint.ts";
import { splitter } from "../src/frame/splitter.ts";
import { coloursOf, themeOf, watchTheme } from "../src/page/theme.ts";

mock.timers.enable({ apis: ["setTimeout"] });

function inPage(background = ""): HTMLElement {
  const element = document.createElement("div");
  document.body.replaceChildren(element);
  document.body.style.backgroundColor = background;
  return element;
}

test("the host's theme wins over the background, and that over the system's", () => {
  const element = inPage();
  const { dataset } = document.body;
  assert.equal(themeOf(element), "light");
  preferDark(true);
  assert.equal(themeOf(element), "dark");
  document.body.style.backgroundColor = "rgb(250, 250, 250)";
  assert.equal(themeOf(element), "light");
  document.body.style.backgroundColor = "rgba(250, 250, 250, 0.4)";
  assert.equal(themeOf(element), "dark");
  preferDark(false);
  for (const [colour, theme] of [["rgb(109, 109, 109)", "dark"], ["rgb(110, 110, 110)", "light"], ["rgb(0, 160, 0)", "light"], ["rgb(255, 60, 90)", "dark"]]) {
    document.body.style.backgroundColor = colour;
    assert.equal(themeOf(element), theme, colour);
  }
  document.documentElement.setAttribute("theme", "light");
  assert.equal(themeOf(element), "light");
  document.documentElement.setAttribute("theme", "dark-2");
  assert.equal(themeOf(element), "dark");
  dataset.jpThemeLight = "true";
  assert.equal(themeOf(element), "light");
  dataset.jpThemeLight = "false";
  assert.equal(themeOf(element), "dark");
  dataset.vscodeThemeKind = "vscode-light";
  assert.equal(themeOf(element), "light");
  dataset.vscodeThemeKind = "vscode-high-contrast";
  assert.equal(themeOf(element), "dark");
  delete dataset.vscodeThemeKind;
  delete dataset.jpThemeLight;
  document.documentElement.removeAttribute("theme");
});

test("a change of the host or of the system is told until nobody listens", async () => {
  let told = 0;
  const stop = watchTheme(() => told++);
  document.body.dataset.jpThemeLight = "false";
  await new Promise<void>((done) => queueMicrotask(done));
  preferDark(true);
  assert.equal(told, 2);
  stop();
  delete document.body.dataset.jpThemeLight;
  preferDark(false);
  await new Promise<void>((done) => queueMicrotask(done));
  assert.equal(told, 2);
});

test("colours are those of the style sheet, by their names", () => {
  const colours = coloursOf(document.body) as unknown as Record<string, string>;
  for (const [name, value] of Object.entries(colours)) assert.equal(value, name);
  assert.equal(Object.keys(colours).length, 15);
});

test("many messages are one repaint per frame, and two a second when asked to", () => {
  let drawn = 0;
  let slow = false;
  const repaint = everyFrame(() => drawn++, () => slow);
  repaint.request();
  repaint.request();
  assert.equal(drawn, 0);
  nextFrame();
  assert.equal(drawn, 1);
  repaint.request();
  nextFrame();
  assert.equal(drawn, 2);
  slow = true;
  const clock = mock.method(performance, "now");
  const now = performance.now();
  clock.mock.mockImplementation(() => now + 100);
  repaint.request();
  nextFrame();
  assert.equal(drawn, 2);
  clock.mock.mockImplementation(() => now + 520);
  mock.timers.tick(480);
  nextFrame();
  assert.equal(drawn, 3);
  repaint.request();
  repaint.cancel();
  clock.mock.mockImplementation(() => now + 2000);
  mock.timers.tick(2000);
  nextFrame();
  assert.equal(drawn, 3);
  clock.mock.restore();
});

test("focus and scrolling survive a move to another element of the page", () => {
  const [first, second] = [inPage(), document.createElement("div")];
  document.body.append(second);
  const element = document.createElement("div");
  const root = element.attachShadow({ mode: "open" });
  const [field, list] = [h("input"), h("div", { class: "list" })];
  root.append(field, list);
  const moving = new Moving(element, root);
  moving.into(first);
  field.focus();
  [list.scrollTop, list.scrollLeft] = [70, 5];
  list.dispatchEvent(new Event("scroll"));
  [list.scrollTop, list.scrollLeft] = [0, 0];
  moving.into(second);

  assert.ok(second.firstElementChild === element);
  assert.ok(root.activeElement === field);
  assert.deepEqual([list.scrollTop, list.scrollLeft], [70, 5]);
  field.blur();
  mock.timers.tick(1);
  moving.into(first);
  assert.equal(root.activeElement, null);
});

test("a border is dragged within its bounds, until the button is let go", () => {
  for (const [axis, behind, from, to] of [["x", true, 300, 260], ["y", false, 300, 340]] as const) {
    const sizes: number[] = [];
    const options = { label: "Size", axis, behind, size: () => 200, bounds: () => [150, 260] as [number, number] };
    const element = splitter({ ...options, resize: (size) => sizes.push(size) });
    point(element, "pointerdown", from, from);
    point(element, "pointermove", to, to);
    point(element, "pointermove", 900, 900);
    point(element, "pointerup", 900, 900);
    point(element, "pointermove", 310, 310);
    press(element, axis === "x" ? "ArrowLeft" : "ArrowUp");
    press(element, axis === "x" ? "ArrowRight" : "ArrowDown");
    assert.equal(press(element, axis === "x" ? "ArrowUp" : "ArrowLeft"), true);
    point(element, "pointerdown", from, from);
    point(element, "pointercancel", from, from);
    point(element, "pointermove", to, to);

    assert.deepEqual(sizes, behind ? [240, 150, 216, 184] : [240, 260, 184, 216]);
    assert.equal(element.getAttribute("aria-valuenow"), "200");
    assert.equal(element.getAttribute("aria-orientation"), axis === "x" ? "vertical" : "horizontal");
  }
});

test("elements take known attributes only, and text never as markup", () => {
  const made = h("div", { class: "a", hidden: null, title: undefined, disabled: true, "aria-label": "x\u202ey" }, "<b>", [null, false, "t", h("i")]);
  assert.equal(made.outerHTML, '<div class="a" disabled="" aria-label="x⟨U+202E⟩y">&lt;b&gt;t<i></i></div>');
  assert.throws(() => h("a", { href: "x" }), /href/);
  assert.equal(svg("rect", { x: 0, style: { color: "red" } }).getAttribute("style"), "color: red;");
  let clicked = 0;
  point(h("button", { onclick: () => clicked++ }), "click");
  assert.equal(clicked, 1);
});
