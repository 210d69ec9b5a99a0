/** The inspector: the facts about the selected call, model, fold or missing calls. */

import { missingCalls } from "./inspectbaseline.ts";
import { CONNECTED, listenWeakly } from "../kernel/connections.ts";
import { DebugPart } from "./debugcall.ts";
import { h } from "../page/dom.ts";
import { droppedCall } from "../facts/dropped.ts";
import { factsOfCalls, manyCalls } from "./inspectcalls.ts";
import { manyModels } from "./inspectmodels.ts";
import { factsOfCall, oneCall } from "./inspectcall.ts";
import type { Selection, Session } from "../session/session.ts";
import { ProfilePart } from "./inspectprofile.ts";
import type { TensorsState } from "../session/viewstate.ts";
import { TensorList } from "../tensors/tensors.ts";

/** Pause between two updates of the selection while a run grows. */
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
  #profile: ProfilePart;
  #debug: DebugPart;
  #facts = "";
  #drawn = -Infinity;
  #later: ReturnType<typeof setTimeout> | undefined;
  #stop: () => void;

  constructor(session: Session) {
    this.#session = session;
    this.#tensors = new TensorList(session);
    this.#profile = new ProfilePart(session);
    this.#debug = new DebugPart(session);
    this.#stop = listenWeakly(this, [CONNECTED], (inspector) => inspector.reach());
  }

  /** Show the selection; elements stay if no fact has changed. */
  draw(): void {
    const { selection, trace } = this.#session;
    const facts = this.#factsOf(selection);
    clearTimeout(this.#later);
    if (facts === this.#facts) return;
    const sameSubject = facts.split("\n")[0] === this.#facts.split("\n")[0];
    const running = trace.header.run.state === "running";
    const wait = sameSubject && running ? this.#drawn + REFRESH_MS - performance.now() : 0;
    if (wait > 0) {
      this.#later = setTimeout(() => this.#drawNow(), wait);
      return;
    }
    this.#drawn = performance.now();
    this.#facts = facts;
    this.#replace(this.#content(selection), sameSubject);
  }

  #drawNow(): void {
    this.#drawn = -Infinity;
    this.draw();
  }

  /** The preferred height. */
  get wantedHeight(): number {
    return this.element.scrollHeight;
  }

  /** The tensors that are open. */
  get tensors(): TensorsState {
    return this.#tensors.state;
  }

  set tensors(state: TensorsState) {
    this.#tensors.state = state;
  }

  focus(): void {
    this.element.focus();
  }

  /** Discard the answers of an earlier kernel. */
  forget(): void {
    this.#tensors.forget();
    this.#facts = "";
  }

  dispose(): void {
    clearTimeout(this.#later);
    this.#debug.dispose();
    this.#stop();
    this.element.remove();
  }

  /** Query a further connection, if none of the earlier ones has the run. */
  reach(): void {
    if (this.#session.kernel?.isSettled ?? true) return;
    this.forget();
    this.draw();
  }

  /** Replace the content; focus stays on the same control, or in the pane. */
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

  /** Return the identity of the selection, and in a second line the facts that can change. */
  #factsOf(selection: Selection | null): string {
    if (!selection) return "nothing";
    const { trace } = this.#session;
    const state = `${trace.header.run.state} ${trace.profile?.total ?? ""}`;
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
      return oneCall(this.#session, selection.call, { tensors: this.#tensors, profile: this.#profile, debug: this.#debug });
    if (selection.kind === "missing")
      return comparison ? missingCalls(comparison.baseline, selection.missing) : [];
    if (selection.kind === "dropped") return droppedCall(this.#session.trace, selection.id);
    if (selection.kind === "models") return manyModels(this.#session, selection.models);
    return manyCalls(this.#session, selection, this.#profile);
  }
}
