/** What an action's answer does in the page, also in the oldest hosts. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Doing } from "../src/panel/doing.ts";
import type { Application, Classes, RenderMime } from "../src/panel/link/lab.ts";
import type { Document } from "../src/panel/link/front.ts";
import type { Reply } from "../src/panel/link/link.ts";

/** A tab, of which nothing is shown. */
class FakeTab {
  id = "";
  isAttached = false;
  title = {};
}

/** An application whose shell has the areas. */
class FakeApplication {
  executed: string[] = [];
  activated: string[] = [];
  added: string[] = [];
  #areas: string[];

  constructor(...areas: string[]) {
    this.#areas = areas;
  }
  shell = {
    add: (tab: FakeTab, area: string) => {
      if (!this.#areas.includes(area)) return;
      tab.isAttached = true;
      this.added.push(area);
    },
    activateById: (id: string) => this.activated.push(id),
  };
  commands = { execute: async (id: string) => this.executed.push(id) };
  get application(): Application {
    return this as unknown as Application;
  }
}

const CLASSES = { MainAreaWidget: FakeTab } as unknown as Classes;
const RENDERMIME = {
  createRenderer: () => ({ node: { classList: { add: () => undefined } }, renderModel: async () => undefined }),
  createModel: () => ({}),
} as unknown as RenderMime;

/** Return the areas in which a page is shown by a host that has some. */
async function shownIn(...areas: string[]): Promise<string[]> {
  const host = new FakeApplication(...areas);
  const doing = new Doing(host.application, CLASSES, RENDERMIME);
  const buffer = new TextEncoder().encode("<p>run</p>").buffer;
  await doing.follow({ page: { title: "run 1", html: [0, 10] }, buffer } as unknown as Reply, null);
  assert.equal(host.activated.length, 1);
  return host.added;
}

test("a run is shown in the first area that takes it", async () => {
  assert.deepEqual(await shownIn("main", "down", "right"), ["main"]);
  assert.deepEqual(await shownIn("down", "right"), ["down"]);
  assert.deepEqual(await shownIn("right"), ["right"]);
});

function cell(source: string): object {
  return { model: { type: "code", sharedModel: { source } } };
}

/** Return where a cell is inserted into a notebook of which one cell is active. */
async function insertedAt(activeCellIndex: number, ...sources: string[]): Promise<number> {
  let at = -1;
  const model = { sharedModel: { insertCells: (index: number) => (at = index) } };
  const content = { activeCellIndex, widgets: sources.map(cell), model, scrollToItem: async () => undefined };
  const notebook = { id: "notebook", isDisposed: false, content, context: {} } as unknown as Document;
  const doing = new Doing(new FakeApplication().application, CLASSES, RENDERMIME);
  await doing.insert(["1 + 1"], notebook);
  return at;
}

test("a cell is not inserted between the cells of one model", async () => {
  const cells = ["%%triton_config m", '%%triton_file "m/1/helper.py"', "%%triton_model m\nclass A", "%%triton_model n", "1", "1"];
  assert.equal(await insertedAt(0, ...cells), 3);
  assert.equal(await insertedAt(1, ...cells), 3);
  assert.equal(await insertedAt(2, ...cells), 3);
  assert.equal(await insertedAt(3, ...cells), 4);
  assert.equal(await insertedAt(4, ...cells), 5);
  assert.equal(await insertedAt(-1), 0);
});

test("an inserted cell runs although another scroll replaced the one to it", async () => {
  const host = new FakeApplication();
  const doing = new Doing(host.application, CLASSES, RENDERMIME);
  const content = {
    activeCellIndex: 0,
    widgets: [cell("")],
    model: { sharedModel: { insertCells: () => undefined } },
    scrollToItem: () => Promise.reject("Scrolling to a new item is requested."),
  };
  const notebook = { id: "notebook", isDisposed: false, content, context: {} } as unknown as Document;
  assert.equal(await doing.insert(["1 + 1"], notebook, true), "A cell was inserted.");
  assert.deepEqual(host.executed, ["notebook:run-cell"]);
});

test("a file is opened from the folder of the notebook or console", async () => {
  const opened: unknown[] = [];
  const commands = { execute: async (_: string, { path }: { path: string }) => opened.push(path) };
  const doing = new Doing({ commands } as unknown as Application, CLASSES, RENDERMIME);
  const console_ = { sessionContext: { path: "work/console-1" } } as unknown as Document;
  const open = (file: string): Promise<string> =>
    doing.follow({ place: { model: "m", cell: "", file } } as unknown as Reply, console_);
  assert.equal(await open("../models/m/1/model.py"), "");
  assert.deepEqual(opened, ["models/m/1/model.py"]);
  assert.equal(await open("../../m.py"), "../../m.py is outside of the folder that Jupyter serves.");
  commands.execute = async () => Promise.reject(new Error("file or directory does not exist"));
  assert.equal(await open("gone.py"), "file or directory does not exist");
});

test("a run that is shown again takes the place of its tab, and not of another notebook's", async () => {
  const disposed: string[] = [];
  class Tab extends FakeTab {
    dispose = (): unknown => disposed.push(this.id);
  }
  const host = new FakeApplication("main");
  const doing = new Doing(host.application, { MainAreaWidget: Tab } as unknown as Classes, RENDERMIME);
  const buffer = new TextEncoder().encode("<p>run</p>").buffer;
  for (const id of ["one", "two", "one"])
    await doing.follow({ page: { title: "run 1", html: [0, 10] }, buffer } as unknown as Reply, { id } as Document);
  assert.deepEqual(disposed, [host.activated[0]]);
});

test("a closed area below the notebook gets half of the page, and an open one keeps its height", async () => {
  for (const [area, before, after] of [["down", [1, 0], [1, 1]], ["down", [0.8, 0.2], [0.8, 0.2]], ["main", [1, 0], [1, 0]]] as const) {
    let sizes: readonly number[] = before;
    const split = { relativeSizes: () => sizes, setRelativeSizes: (given: number[]) => (sizes = given) };
    class Tab extends FakeTab {
      parent = { parent: split };
    }
    const doing = new Doing(new FakeApplication(area).application, { MainAreaWidget: Tab } as unknown as Classes, RENDERMIME);
    await doing.follow({ page: { title: "run 1", html: [0, 0] }, buffer: new ArrayBuffer(0) } as unknown as Reply, null);
    assert.deepEqual(sizes, after);
  }
});

/** A notebook whose cells have run, and the cell to which it was scrolled. */
function notebookOf(...cells: [type: string, source: string, executionCount: number | null][]): Document & { content: { activeCellIndex: number } } {
  const widgets = cells.map(([type, source, executionCount]) => ({ model: { type, sharedModel: { source }, executionCount } }));
  const content = { activeCellIndex: -1, widgets, scrollToItem: async () => undefined };
  return { id: "notebook", content, context: {}, sessionContext: { path: "work/a.ipynb" } } as unknown as Document & { content: { activeCellIndex: number } };
}

test("a model's cell is opened: the one that ran with the number, else the last", async () => {
  const document = notebookOf(
    ["code", "%%triton_model m\nfirst", 3],
    ["markdown", "%%triton_model m", 4],
    ["code", "%%triton_model n", 4],
    ["code", "%%triton_model m\nsecond", 4],
    ["code", "%%triton_model m\nthird", 12],
  );
  const opened = async (model: string, cell: string): Promise<[number, string]> => {
    document.content.activeCellIndex = -1;
    const doing = new Doing(new FakeApplication().application, CLASSES, RENDERMIME);
    const sentence = await doing.follow({ place: { model, cell, file: "" } } as unknown as Reply, document);
    return [document.content.activeCellIndex, sentence];
  };

  assert.deepEqual(await opened("m", "cell In[3]"), [0, ""]);
  assert.deepEqual(await opened("m", "cell In[4]"), [3, ""]);
  assert.deepEqual(await opened("m", "cell In[12]"), [4, ""]);
  assert.deepEqual(await opened("m", "cell In[99]"), [4, ""]);
  assert.deepEqual(await opened("m", ""), [4, ""]);
  assert.deepEqual(await opened("n", "cell In[3]"), [2, ""]);
  assert.deepEqual(await opened("o", "cell In[3]"), [-1, "The cell of o is not in this notebook."]);
});

test("code is put at a console's prompt, and only the first of several cells", async () => {
  const typed: string[] = [];
  const promptCell = { model: { sharedModel: { setSource: (text: string) => typed.push(text) } } };
  const typing = (prompt: object | null, ...cells: string[]): Promise<string> => {
    const document = { id: "console", console: { promptCell: prompt } } as unknown as Document;
    return new Doing(new FakeApplication().application, CLASSES, RENDERMIME).follow({ cells } as unknown as Reply, document);
  };

  assert.equal(await typing(promptCell, "1"), "The code is at the console's prompt.");
  assert.equal(await typing(promptCell, "2", "3"), "The first cell is at the console's prompt; a notebook takes all of them.");
  assert.equal(await typing(null, "4"), "The console has no prompt: wait for its kernel.");
  assert.deepEqual(typed, ["1", "2"]);
});

test("a model without a file cannot be opened from a console or without a document", async () => {
  const opened = (document: object | null): Promise<string> =>
    new Doing(new FakeApplication().application, CLASSES, RENDERMIME).follow({ place: { model: "m", cell: "", file: "" } } as unknown as Reply, document as Document | null);

  assert.equal(await opened({ console: {} }), "A console has no cells to open: open a notebook with the kernel of m.");
  assert.equal(await opened(null), "The cell of m is not in this notebook.");
});
