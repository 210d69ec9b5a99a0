/** The panel: its tabs, and one line that says what happens. */

import { h, setText } from "../page/dom.ts";
import { pressOnce } from "../page/press.ts";
import { Graph } from "./sections/graph.ts";
import type { Link, Row } from "./link/link.ts";
import { Logs } from "./sections/logs.ts";
import { Models, type Act } from "./sections/models.ts";
import { Notes } from "./sections/notes.ts";
import { Runs } from "./sections/runs.ts";
import style from "./panel.css";

/** Time until an action counts as waiting, in milliseconds. */
const PATIENCE_MS = 300;

interface Tab {
  name: string;
  /** Name of the list that it shows. */
  list: string;
  label: string;
  view: { readonly node: HTMLElement; show(rows: Iterable<Row>): void };
}

export class Sidebar {
  readonly node: HTMLElement;
  #link: Link;
  #tabs: Tab[];
  #buttons: HTMLElement[];
  #chosen = 0;
  #isVisible = false;
  #state = h("div", { class: "absent" });
  /** What is said of actions without an answer, with their kernels. */
  #waits = new Set<{ kernel: unknown; text: string }>();
  #said = "";
  #status = h("p", { class: "status", role: "status" });
  #body = h("div", { class: "body" });
  #load: () => void;
  #panel = h("div", { id: "blsnb-tabpanel", role: "tabpanel" });
  /** It appears when rows are late, as while a cell runs. */
  #waiting = h("p", { class: "note waiting" }, "Waiting for the kernel.");

  /** `act` carries out an action, `load` inserts what loads blsnb. */
  constructor(link: Link, act: Act, load: () => void) {
    this.#link = link;
    this.#load = load;
    const graph = new Graph((name, about) => link.query(name, about), act);
    this.#tabs = [
      { name: "models", list: "models", label: "Models", view: new Models(act, () => link.actions) },
      { name: "runs", list: "runs", label: "Runs", view: new Runs(act, () => link.actions) },
      { name: "logs", list: "logs", label: "Logs", view: new Logs() },
      { name: "graph", list: "models", label: "Graph", view: graph },
      { name: "notes", list: "notes", label: "Notes", view: new Notes(act) },
    ];
    this.#buttons = this.#tabs.map(({ label, name }, index) =>
      h("button", { type: "button", role: "tab", id: `blsnb-tab-of-${name}`, "aria-controls": "blsnb-tabpanel", onclick: () => this.#choose(index) }, label),
    );
    const bar = h("div", { class: "tabs", role: "tablist", "aria-label": "Triton", onkeydown: (event: KeyboardEvent) => this.#onKey(event) }, this.#buttons);
    this.#body.append(bar, this.#panel);
    this.node = h("div", { class: "blsnb-panel" }, h("style", {}, style), this.#state, this.#body, this.#status);
    pressOnce(this.node);
    this.#choose(0);
  }

  /** Show one sentence about what happens. */
  say(text: string): void {
    this.#said = text;
    this.#drawStatus();
  }

  /** Show a sentence while the kernel in front is, from soon on; return what ends it. */
  wait(text: string): () => void {
    const wait = { kernel: this.#link.kernel, text };
    const late = setTimeout(() => {
      this.#waits.add(wait);
      if (wait.kernel === this.#link.kernel) this.say("");
    }, PATIENCE_MS);
    return () => {
      clearTimeout(late);
      this.#waits.delete(wait);
    };
  }

  /** Choose a tab by its name. */
  choose(name: string): void {
    this.#choose(this.#tabs.findIndex((tab) => tab.name === name));
  }

  /** A panel that is not seen asks the kernel for nothing. */
  setVisible(isVisible: boolean): void {
    this.#isVisible = isVisible;
    this.#link.watch(isVisible ? [this.#tabs[this.#chosen].list] : []);
  }

  /** The state of the link, or a list, has changed. */
  update(list: string): void {
    if (!list) this.#drawState();
    const tab = this.#tabs[this.#chosen];
    const rows = this.#link.lists.get(tab.list);
    if (list && list !== tab.list) return;
    const shown = rows ? tab.view.node : this.#waiting;
    if (shown !== this.#panel.firstChild) this.#panel.replaceChildren(shown);
    if (rows) tab.view.show(rows.values());
  }

  #choose(index: number): void {
    this.#chosen = index;
    for (const [number, button] of this.#buttons.entries()) {
      button.setAttribute("aria-selected", String(number === index));
      button.tabIndex = number === index ? 0 : -1;
    }
    this.#panel.setAttribute("aria-labelledby", this.#buttons[index].id);
    this.setVisible(this.#isVisible);
    this.say("");
    this.update("");
  }

  #onKey(event: KeyboardEvent): void {
    const last = this.#tabs.length - 1;
    const [before, after] = [this.#chosen - 1, this.#chosen + 1];
    const to = { ArrowLeft: before < 0 ? last : before, ArrowRight: after > last ? 0 : after, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#choose(to);
    this.#buttons[to].focus();
  }

  #drawStatus(): void {
    const late = [...this.#waits].filter(({ kernel }) => kernel === this.#link.kernel).map(({ text }) => text);
    setText(this.#status, [...new Set([this.#said, ...late])].filter(Boolean).join("\n"));
  }

  #drawState(): void {
    const { state } = this.#link;
    this.#body.hidden = state !== "linked";
    this.#state.hidden = state === "linked";
    const texts = {
      none: "Open a notebook or a console with a kernel to see its models.",
      asking: "Waiting for the kernel.",
      absent: "This kernel has not loaded blsnb.",
      linked: "",
    };
    const button = h("button", { type: "button", onclick: this.#load }, "Insert %load_ext blsnb");
    this.#state.replaceChildren(h("p", {}, texts[state]), ...(state === "absent" ? [button] : []));
    // What is said of a kernel that was left, also by a restart.
    if (state === "none" || state === "asking") this.say("");
  }
}
