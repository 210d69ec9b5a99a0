/** Cells of models as language servers receive them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { addExtractor, MODEL_EXTRACTOR, type Extractor } from "../src/panel/editor/lsp.ts";

const SOURCE = "import os\nclass TritonPythonModel:\n    pass";

test("the source of a model is a document of its own, without its magic", () => {
  const cell = `\n%%triton_model m --input X:FP32[4]\n${SOURCE}`;
  const [found, ...more] = MODEL_EXTRACTOR.extractForeignCode(cell);
  assert.equal(MODEL_EXTRACTOR.hasForeignCode(cell, "code"), true);
  assert.deepEqual(found, {
    hostCode: "",
    foreignCode: SOURCE,
    range: { start: { line: 2, column: 0 }, end: { line: 4, column: 8 } },
    virtualShift: null,
  });
  assert.deepEqual(more, []);
});

test("a Python file beside a model is one, too", () => {
  const cell = `%%triton_file m/1/helper.py\n${SOURCE}`;
  assert.equal(MODEL_EXTRACTOR.extractForeignCode(cell)[0].foreignCode, SOURCE);
});

test("other cells stay in the notebook", () => {
  const cells = [
    SOURCE,
    `%triton_model m\n${SOURCE}`,
    "%%triton_config m\nmax_batch_size: 4",
    "%%triton_file m/labels.txt\na",
    "%%triton_models m\na",
    `# %%triton_model m\n${SOURCE}`,
    "%%triton_model m",
  ];
  assert.deepEqual(cells.filter((cell) => MODEL_EXTRACTOR.hasForeignCode(`${cell}`, "code")), []);
  assert.equal(MODEL_EXTRACTOR.hasForeignCode(`%%triton_model m\n${SOURCE}`, "markdown"), false);
});

test("it is registered for notebooks of Python", () => {
  const made: [Extractor, string | null][] = [];
  addExtractor({ register: (...given) => void made.push(given) });
  assert.deepEqual(made, [[MODEL_EXTRACTOR, "python"]]);
});
