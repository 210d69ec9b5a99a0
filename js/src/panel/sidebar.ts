/** The panel: its tabs, and one line that says what happens. */

import { h, setText } from "../dom.ts";
import type { Link, Row } from "./link.ts";
import { Logs } from "./logs.ts";
import { Models, type Act } from "./models.ts";
import { Runs } from "./runs.ts";
import style from "./panel.css";

interface Tab {
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
  #status = h("p", { class: "status", role: "status" });
  #body = h("div", { class: "body" });
  #load: () => void;

  /** `act` carries out an action, `load` inserts what loads blsnb. */
  constructor(link: Link, act: Act, load: () => void) {
    this.#link = link;
    this.#load = load;
    const [models, runs, logs] = [new Models(act, () => link.actions), new Runs(act), new Logs()];
    this.#tabs = [
      { list: "models", label: "Models", view: models },
      { list: "runs", label: "Runs", view: runs },
      { list: "logs", label: "Logs", view: logs },
    ];
    this.#buttons = this.#tabs.map(({ label, list }, index) =>
      h("button", { type: "button", role: "tab", id: `blsnb-tab-of-${list}`, "aria-controls": "blsnb-tabpanel", onclick: () => this.#choose(index) }, label),
    );
    const bar = h("div", { class: "tabs", role: "tablist", "aria-label": "Triton", onkeydown: (event: KeyboardEvent) => this.#onKey(event) }, this.#buttons);
    this.#body.append(bar, h("div", { id: "blsnb-tabpanel", role: "tabpanel" }));
    this.node = h("div", { class: "blsnb-panel" }, h("style", {}, style), this.#state, this.#body, this.#status);
    this.#choose(0);
  }

  /** Show one sentence about what happens. */
  say(text: string): void {
    setText(this.#status, text);
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
    if (list === tab.list || !list) tab.view.show(this.#link.lists.get(tab.list)?.values() ?? []);
  }

  #choose(index: number): void {
    this.#chosen = index;
    const tab = this.#tabs[index];
    for (const [number, button] of this.#buttons.entries()) {
      button.setAttribute("aria-selected", String(number === index));
      button.tabIndex = number === index ? 0 : -1;
    }
    const panel = this.#body.lastElementChild as HTMLElement;
    panel.setAttribute("aria-labelledby", this.#buttons[index].id);
    panel.replaceChildren(tab.view.node);
    this.setVisible(this.#isVisible);
    this.update("");
  }

  #onKey(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const count = this.#tabs.length;
    this.#choose((this.#chosen + step + count) % count);
    this.#buttons[this.#chosen].focus();
  }

  #drawState(): void {
    const { state } = this.#link;
    this.#body.hidden = state !== "linked";
    this.#state.hidden = state === "linked";
    const texts = {
      none: "Open a notebook or a console to see its models.",
      asking: "Waiting for the kernel.",
      absent: "This kernel has not loaded blsnb.",
      linked: "",
    };
    const button = h("button", { type: "button", onclick: this.#load }, "Insert %load_ext blsnb");
    this.#state.replaceChildren(h("p", {}, texts[state]), ...(state === "absent" ? [button] : []));
    this.say("");
  }
}
