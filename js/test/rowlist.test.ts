import { press } from "./page.ts";

import assert from "node:assert/strict";
import { test } from "node:test";

import { h } from "../src/dom.ts";
import { RowList } from "../src/panel/rowlist.ts";

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
