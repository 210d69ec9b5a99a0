/** The inspector: everything about one call, or about all calls of a model or a fold. */

import { missingCalls } from "./compared.ts";
import { h } from "./dom.ts";
import { droppedCall } from "./dropped.ts";
import { factsOfCalls, manyCalls } from "./manycalls.ts";
import { manyModels } from "./manymodels.ts";
import { factsOfCall, oneCall } from "./onecall.ts";
import type { Selection, Session } from "./session.ts";
import { TensorList } from "./tensors.ts";

/** While a run grows, what is selected is told anew so often. */
const REFRESH_MS = 500;

export class Inspector {
  readonly element = h("div", {
    class: "inspector",
    role: "region",
    "aria-label": "Inspector",
    tabindex: 0,
  });
  #session: Session;
  #tensors: TensorList;
  #facts = "";
  #drawn = -Infinity;

  constructor(session: Session) {
    this.#session = session;
    this.#tensors = new TensorList(session);
  }

  /** Show the selection; nothing is touched when nothing about it changed. */
  draw(): void {
    const { selection, trace } = this.#session;
    const facts = this.#factsOf(selection);
    if (facts === this.#facts) return;
    const sameSubject = facts.split("\n")[0] === this.#facts.split("\n")[0];
    const running = trace.header.run.state === "running";
    if (sameSubject && running && performance.now() - this.#drawn < REFRESH_MS) return;
    this.#drawn = performance.now();
    this.#facts = facts;
    this.#replace(this.#content(selection), sameSubject);
  }

  /** How high it would like to be. */
  get wantedHeight(): number {
    return this.element.scrollHeight;
  }

  focus(): void {
    this.element.focus();
  }

  /** There is another kernel to ask. */
  forget(): void {
    this.#tensors.forget();
    this.#facts = "";
  }

  dispose(): void {
    this.element.remove();
  }

  /** Focus stays on what does the same as before, at least in the pane. */
  #replace(content: HTMLElement[], sameSubject: boolean): void {
    const { activeElement } = this.element.getRootNode() as ShadowRoot;
    const focused = this.element.contains(activeElement) && activeElement;
    const top = this.element.scrollTop;
    this.element.replaceChildren(...content);
    this.element.scrollTop = sameSubject ? top : 0;
    if (focused) this.#focusAgain(focused.getAttribute("data-focus"));
  }

  #focusAgain(name: string | null): void {
    const all = [...this.element.querySelectorAll<HTMLElement>("[data-focus]")];
    const same = all.find((each) => each.dataset.focus === name);
    (same ?? this.element).focus({ preventScroll: true });
  }

  /** First line: what is selected; second: all that can change about it. */
  #factsOf(selection: Selection | null): string {
    if (!selection) return "nothing";
    const { trace } = this.#session;
    const { state } = trace.header.run;
    if (selection.kind === "missing") return `missing ${selection.key}`;
    if (selection.kind === "dropped") return `dropped ${selection.id}`;
    if (selection.kind === "models") return `models\n${selection.models} ${trace.n} ${state}`;
    if (selection.kind === "call")
      return `call ${trace.id(selection.call)}\n${factsOfCall(trace, selection.call)} ${state}`;
    const key = selection.kind === "fold" ? selection.key : selection.model;
    return `${selection.kind} ${key}\n${factsOfCalls(trace, selection)} ${state}`;
  }

  #content(selection: Selection | null): HTMLElement[] {
    if (!selection) return [h("p", { class: "hint" }, "Select a model or a call.")];
    const { comparison } = this.#session.trace;
    if (selection.kind === "call")
      return oneCall(this.#session, selection.call, this.#tensors);
    if (selection.kind === "missing")
      return comparison ? missingCalls(comparison.baseline, selection.missing) : [];
    if (selection.kind === "dropped") return droppedCall(this.#session.trace, selection.id);
    if (selection.kind === "models") return manyModels(this.#session, selection.models);
    return manyCalls(this.#session, selection);
  }
}
