import "./page.ts";

import assert from "node:assert/strict";
import { test } from "node:test";

import { timedLines } from "../src/inspector/inspectlines.ts";
import type { TimedFile } from "../src/trace/header.ts";

const FILES: TimedFile[] = [
  ["model.py", [["model.py:3", 2, 500, 0, "x = 1"], null, ["model.py:9", 1, 2000, 100, "y"]]],
  ["helper.py", [["helper.py:1", 0, 0, 0, ""]]],
];

test("a line is tinted by its share of the longest time of all files", () => {
  const [, model, , helper] = timedLines(FILES);
  const widths = [...model.querySelectorAll<HTMLElement>("tbody td:nth-child(3)")].map(
    (each) => /\s(\d+)%/.exec(each.getAttribute("style") ?? "")?.[1],
  );

  assert.deepEqual(widths, ["25", "100"]);
  assert.equal(helper.querySelector("tbody td:nth-child(3)")?.getAttribute("style"), null);
});
