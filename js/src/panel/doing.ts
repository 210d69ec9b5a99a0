/** What an action's answer does in the page: insert cells, open a cell, a file, or a tab. */

import { messageOf } from "../page/format.ts";
import { isNotebook, type Document } from "./link/front.ts";
import type { Application, CellSource, Classes, Notebook, NotebookPanel, RenderMime, SplitPanel, Widget } from "./link/lab.ts";
import type { Reply } from "./link/link.ts";

/** Largest share of the page that counts as closed. */
const CLOSED = 0.1;
let lastTab = 0;

export class Doing {
  #app: Application;
  #classes: Classes;
  #rendermime: RenderMime | null;
  #tabs = new Map<string, Widget>();

  constructor(app: Application, classes: Classes, rendermime: RenderMime | null) {
    [this.#app, this.#classes, this.#rendermime] = [app, classes, rendermime];
  }

  /** Do what an answer says; return the sentence to show. */
  async follow(reply: Reply, document: Document | null): Promise<string> {
    if (reply.cells) return this.insert(reply.cells, document, reply.run);
    if (reply.place) return this.#open(reply.place, document);
    if (reply.page) {
      const [offset, size] = reply.page.html;
      const html = new TextDecoder().decode(new Uint8Array(reply.buffer, offset, size));
      return this.#show(reply.page.title, html, document);
    }
    return reply.done ?? "";
  }

  /** Insert cells below the active one and those of its model; run the first if `run`. */
  async insert(texts: string[], document: Document | null, run = false): Promise<string> {
    if (!document || document.isDisposed) return "Open a notebook to insert cells.";
    this.#app.shell.activateById(document.id);
    if (!isNotebook(document)) return this.#type(texts, document, run);
    const { content } = document;
    const index = placeBelow(content);
    const cells = texts.map((source): CellSource => ({ cell_type: "code", source, metadata: { trusted: true } }));
    content.model?.sharedModel.insertCells(index, cells);
    content.activeCellIndex = index;
    await scrolled(content, index, "smart");
    if (run) void this.#app.commands.execute("notebook:run-cell");
    return cells.length === 1 ? "A cell was inserted." : `${cells.length} cells were inserted.`;
  }

  async #type(texts: string[], document: Exclude<Document, NotebookPanel>, run: boolean): Promise<string> {
    const { console } = document;
    if (run) {
      await console.inject(texts[0]);
      return "";
    }
    if (!console.promptCell) return "The console has no prompt: wait for its kernel.";
    console.promptCell.model.sharedModel.setSource(texts[0]);
    if (texts.length === 1) return "The code is at the console's prompt.";
    return "The first cell is at the console's prompt; a notebook takes all of them.";
  }

  async #open(place: NonNullable<Reply["place"]>, document: Document | null): Promise<string> {
    if (document && isNotebook(document)) {
      const index = cellOf(document, place);
      if (index >= 0) {
        this.#app.shell.activateById(document.id);
        document.content.activeCellIndex = index;
        await scrolled(document.content, index, "start");
        return "";
      }
    }
    if (!place.file) return noCell(place.model, document);
    return this.#openFile(place.file, document);
  }

  async #openFile(file: string, document: Document | null): Promise<string> {
    const folder = document?.sessionContext.path.split("/").slice(0, -1) ?? [];
    const path = resolved(folder, file);
    if (path === null) return `${file} is outside of the folder that Jupyter serves.`;
    try {
      await this.#app.commands.execute("docmanager:open", { path });
      return "";
    } catch (error) {
      return messageOf(error);
    }
  }

  async #show(title: string, html: string, document: Document | null): Promise<string> {
    if (!this.#rendermime) return "This page cannot show a run in a tab.";
    const { MainAreaWidget } = this.#classes;
    const content = this.#rendermime.createRenderer("text/html");
    const tab = new MainAreaWidget({ content });
    // What is shown again takes the place of the tab that showed it. Kernels number their runs alike.
    const key = `${document?.id} ${title}`;
    this.#tabs.get(key)?.dispose();
    this.#tabs.set(key, tab);
    tab.id = `blsnb-tab-${++lastTab}`;
    tab.title.label = title;
    tab.title.caption = title;
    tab.title.closable = true;
    content.node.classList.add("blsnb-tab");
    // Notebook 7 has one document in its main area; 7.2 has no area below it.
    const area = ["main", "down", "right"].find((each) => {
      this.#app.shell.add(tab, each);
      return tab.isAttached;
    });
    this.#app.shell.activateById(tab.id);
    if (area === "down") makeRoom(tab);
    const data = { "text/html": html };
    await content.renderModel(this.#rendermime.createModel({ data, trusted: true }));
    return "";
  }
}

/** Give a tab below the notebook half of the page if its area is closed: it opens with no height. */
function makeRoom(tab: Widget): void {
  let area = tab.parent;
  while (area && !("setRelativeSizes" in area)) area = area.parent;
  const split = area as SplitPanel | null | undefined;
  if (split && split.relativeSizes().at(-1)! < CLOSED) split.setRelativeSizes([1, 1]);
}

/** Scroll to a cell; JupyterLab rejects this if another scroll replaces it. */
async function scrolled(notebook: Notebook, index: number, align: string): Promise<void> {
  await notebook.scrollToItem(index, align).catch(() => undefined);
}

function noCell(model: string, document: Document | null): string {
  if (!document || isNotebook(document)) return `The cell of ${model} is not in this notebook.`;
  return `A console has no cells to open: open a notebook with the kernel of ${model}.`;
}

/** Return the position of a model's cell, or -1: the one that ran with the number, else the last. */
function cellOf(document: NotebookPanel, { model, cell }: { model: string; cell: string }): number {
  const number = Number(/\d+/.exec(cell)?.[0] ?? -1);
  let found = -1;
  for (const [index, { model: each }] of document.content.widgets.entries()) {
    if (each.type !== "code" || definedIn(each.sharedModel.source) !== model) continue;
    found = index;
    if (each.executionCount === number) break;
  }
  return found;
}

/** Return where a cell is inserted: below the active one, and below the cells of its model that follow it. */
function placeBelow({ activeCellIndex, widgets }: Notebook): number {
  const models = widgets.map(({ model }) => (model.type === "code" ? partOf(model.sharedModel.source) : null));
  const active = models[activeCellIndex] ?? null;
  let index = Math.min(activeCellIndex + 1, widgets.length);
  while (active !== null && models[index] === active) index++;
  return index;
}

/** Return the model that a cell defines. */
export function definedIn(source: string): string | null {
  return source.trimStart().startsWith("%%triton_model") ? partOf(source) : null;
}

/** Return the model of which a cell is the source, the configuration or a file. */
function partOf(source: string): string | null {
  const found = /^\s*%%triton_(?:model|config|(file))\s+(?:"([^"]*)"|'([^']*)'|(\S+))/.exec(source);
  if (!found) return null;
  const name = found[2] ?? found[3] ?? found[4];
  return found[1] ? name.split("/")[0] : name;
}

/** Return a file's path from the folder that Jupyter serves; null if it is not in it. */
export function resolved(folder: string[], file: string): string | null {
  const path = [...folder];
  for (const part of file.split("/")) {
    if (part === "..") {
      if (path.pop() === undefined) return null;
    } else if (part && part !== ".") path.push(part);
  }
  return file.startsWith("/") ? null : path.join("/");
}
