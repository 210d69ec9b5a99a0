import { press } from "./page.ts";

import assert from "node:assert/strict";
import { test } from "node:test";

import { h } from "../src/page/dom.ts";
import { RowList } from "../src/panel/sections/rowlist.ts";

/** A list of three models in the page. */
function models(): HTMLElement {
  const list = new RowList<string>("models", "no model", (item) => [h("button", { class: "head toggle" }, item)]);
  list.show(["a", "b", "c"].map((key) => ({ key, item: key, look: key })));
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
  const show = (item: string) => list.show([{ key: "a", item, look: item }]);
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
