/** What editors know of `config.pbtxt`: places, completion and colours. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { completed, CONFIG_COMPLETION } from "../src/panel/editor/completion.ts";
import { CONFIG_PARSER, isConfigCell } from "../src/panel/editor/configlanguage.ts";
import { meaningAt, placeAtEnd } from "../src/panel/editor/configplace.ts";

const FILE = new URL("../../tests/model/text/config_places.json", import.meta.url);
const PLACES = JSON.parse(new TextDecoder().decode(readFileSync(FILE))) as [text: string, message: string, field: string][];

test("a place is found as the kernel finds it", () => {
  for (const [text, message, field] of PLACES) {
    assert.deepEqual(placeAtEnd(text), message ? { message, field } : null, text);
  }
});

test("fields and enumerators are completed, each with its meaning", async () => {
  const text = "# 🙂\ninstance_group { kind: KIND_C";
  const offset = [...text].length;
  const reply = await CONFIG_COMPLETION.fetch({ text: `${text} }`, offset });
  const items = [{ label: "KIND_CPU", type: "value", documentation: "The CPU." }];
  assert.deepEqual(reply, { start: offset - 6, end: offset, items });
  assert.deepEqual(completed("decoupled", 9).items, []);
  assert.deepEqual(completed("model_transaction_policy { dec", 30).items.map(({ label }) => label), ["decoupled"]);
});

test("only files of the text format are completed", async () => {
  const of = (path: string): Promise<boolean> => CONFIG_COMPLETION.isApplicable({ widget: { context: { path } } });
  assert.deepEqual([await of("a/config.pbtxt"), await of("a/model.py")], [true, false]);
  assert.equal(await CONFIG_COMPLETION.isApplicable({}), false);
});

/** A line as CodeMirror's stream reads it. */
class Line {
  at = 0;
  text: string;
  constructor(text: string) {
    this.text = text;
  }
  match(pattern: RegExp): boolean {
    const found = pattern.exec(this.text.slice(this.at));
    if (found) this.at += found[0].length;
    return found !== null;
  }
  sol(): boolean {
    return this.at === 0;
  }
  next(): void {
    this.at++;
  }
}

function colours(text: string): string[] {
  const state = CONFIG_PARSER.startState();
  const found: string[] = [];
  for (const each of text.split("\n")) {
    const line = new Line(each);
    while (line.at < each.length) {
      const start = line.at;
      const kind = CONFIG_PARSER.token(line, state);
      assert.ok(line.at > start);
      if (kind && !["bracket", "punctuation"].includes(kind)) found.push(`${kind} ${each.slice(start, line.at)}`);
    }
  }
  return found;
}

test("a cell's magic, names, values and comments have their colours", () => {
  const text = '%%triton_config a\ninput [ { name: "X # {" data_type: TYPE_FP32 dims: -1 } ] # end\nx { y: true }?';
  assert.deepEqual(colours(text), [
    "meta %%triton_config a",
    "propertyName input",
    "propertyName name",
    'string "X # {"',
    "propertyName data_type",
    "atom TYPE_FP32",
    "propertyName dims",
    "number -1",
    "comment # end",
    "propertyName x",
    "propertyName y",
    "bool true",
  ]);
  assert.deepEqual([isConfigCell("%%triton_config a"), isConfigCell("%%triton_configs"), isConfigCell("x")], [true, false, false]);
});

test("a word has the meaning of its place, in files and cells", () => {
  const file = "backend: 'a' instance_group { kind: KIND_CPU }";
  for (const text of [file, `%%triton_config name\n${file}`]) {
    const at = text.indexOf("KIND_CPU");
    assert.deepEqual(meaningAt(text, at + 3), { start: at, end: at + 8, meaning: "The CPU." });
    assert.equal(meaningAt(text, text.indexOf("'a'") + 1), null);
    assert.ok(meaningAt(text, text.indexOf("instance_group"))?.meaning);
  }
  assert.equal(meaningAt("%%triton_config name", 17), null);
  assert.ok(meaningAt(file, 0)?.meaning, "the first word of a file");
});
