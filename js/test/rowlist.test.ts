import { press } from "./page.ts";

import assert from "node:assert/strict";
import { test } from "node:test";

import { h } from "../src/page/dom.ts";
import { RowList } from "../src/panel/sections/rowlist.ts";

/** A list of three models in the page. */
function models(): HTMLElement {
  const list = new RowList<string>("models", "no model", (item) => [h("button", { class: "head toggle" }, item)]);
  list.show(["a", "b", "c"].map((key) => ({ key, item: key, look: key, words: key })));
  document.body.replaceChildren(list.node);
  return list.node;
}

function stops(node: HTMLElement): string[] {
  return [...node.querySelectorAll<HTMLElement>(".head")].filter((each) => each.tabIndex === 0).map((each) => each.textContent ?? "");
}

test("arrow keys, Home and End move the only stop of a list", () => {
  const node = models();
  const seen: (string | null | undefined)[] = [];
  node.querySelector<HTMLElement>(".head")!.focus();
  for (const key of ["ArrowDown", "End", "ArrowDown", "ArrowUp", "Home", "ArrowUp", "x"]) {
    press(document.activeElement!, key);
    seen.push(document.activeElement?.textContent);
    assert.deepEqual(stops(node), [document.activeElement?.textContent]);
  }

  assert.deepEqual(seen, ["b", "c", "c", "b", "a", "a", "a"]);
});

test("rows that change while the pointer is pressed are drawn after its release", async () => {
  const clicks: string[] = [];
  const draw = (item: string) => [h("button", { class: "head", onclick: () => clicks.push(item) }, item)];
  const list = new RowList<string>("models", "no model", draw);
  const show = (item: string) => list.show([{ key: "a", item, look: item, words: item }]);
  const pointer = (type: string) => button.dispatchEvent(new Event(type, { bubbles: true }));
  document.body.replaceChildren(list.node);
  show("before");
  const button = list.node.querySelector<HTMLElement>(".head")!;

  for (const end of ["pointercancel", "pointerup"]) {
    pointer("pointerdown");
    show("after");
    assert.equal(list.node.querySelector(".head"), button);
    if (end === "pointercancel") show("before");
    pointer(end);
    if (end === "pointerup") button.click();
    await new Promise((resolve) => setTimeout(resolve));
  }

  assert.deepEqual(clicks, ["before"]);
  assert.equal(list.node.querySelector(".head")!.textContent, "after");
});

test("rows wait while a reader is about to choose one, and say how many are new", () => {
  const list = new RowList<string>("models", "no model", (item) => [h("button", { class: "head toggle" }, item)]);
  const show = (...items: string[]) =>
    list.show(items.map((item) => ({ key: item[0], item, look: item, words: item })));
  const rows = () => [...list.node.querySelectorAll("li")].map((each) => each.textContent);
  const waits = () => list.node.querySelector(".waits")!.textContent;
  const on = (target: Node, type: string, more = {}) =>
    target.dispatchEvent(Object.assign(new Event(type, { bubbles: true }), more));
  document.body.replaceChildren(list.node);
  show("b", "a");
  const button = list.node.querySelector<HTMLElement>(".head")!;

  on(button, "pointermove");
  show("d", "c", "b changed");
  assert.deepEqual(rows(), ["b changed", "a"]);
  assert.equal(waits(), "2 new rows when the pointer or the focus leaves the list.");
  on(document.body, "pointermove");
  assert.deepEqual([...rows(), waits()], ["d", "c", "b changed", ""]);

  const [first] = list.node.querySelectorAll<HTMLElement>(".head");
  on(first, "keyup", { key: "Tab" });
  show("e", "d");
  assert.deepEqual(rows(), ["d", "c", "b changed"]);
  on(first, "click");
  assert.deepEqual(rows(), ["e", "d"]);
  on(first, "keyup", { key: "Enter" });
  show("f");
  assert.deepEqual(rows(), ["f"]);
  on(list.node.querySelector(".head")!, "pointermove", { pointerType: "touch" });
  show("g");
  assert.deepEqual(rows(), ["g"]);
});

test("the focus of a row that is gone moves to the next one, to the one before, and to the filter", () => {
  const list = new RowList<string>("runs", "no run", (item) => [h("button", { class: "head toggle" }, item)]);
  const show = (...keys: string[]): string | null => {
    list.show(keys.map((key) => ({ key, item: key, look: key, words: key })));
    return document.activeElement!.textContent;
  };
  document.body.replaceChildren(list.node);
  show("a", "b", "c");
  list.node.querySelectorAll<HTMLElement>(".head")[1].focus();

  assert.equal(show("a", "c"), "c");
  assert.deepEqual(stops(list.node), ["c"]);
  assert.equal(show("a"), "a");
  show();
  assert.equal(document.activeElement, list.node.querySelector("input"));
});

test("the focus of an action that a row no longer has moves to its last one", () => {
  const list = new RowList<string[]>("models", "no model", (names) => names.map((name) => h("button", { class: "head" }, name)));
  const show = (...names: string[]): void => list.show([{ key: "a", item: names, look: names.join(), words: "" }]);
  document.body.replaceChildren(list.node);
  show("a", "Diff", "Write to folder");
  list.node.querySelectorAll("button")[2].focus();
  show("a", "Export");
  assert.equal(document.activeElement!.textContent, "Export");
});
