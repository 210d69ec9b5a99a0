/** The inspector's button that executes a call again, and stops in its `execute` in the debugger. */

import { CONNECTED, DISCONNECTED, listenWeakly } from "../kernel/connections.ts";
import { h, setText } from "../page/dom.ts";
import { messageOf } from "../page/format.ts";
import { QueryError } from "../kernel/kernel.ts";
import type { Session } from "../session/session.ts";
import { Flag } from "../trace/wire.ts";

const WAITING = "The call runs in the debugger: continue there when it has stopped.";

export class DebugPart {
  #session: Session;
  #button = h(
    "button",
    { type: "button", "data-focus": "debug", onclick: () => void this.#debug() },
    "Debug this call",
  );
  #status = h("span", { class: "hint", role: "status" });
  #element = h("div", { class: "debug" });
  /** Sentences by call id. */
  #said = new Map<number, string>();
  /** Id of the call that is shown. */
  #shown = -1;
  /** Id of the call that has no answer yet; −1 for none. */
  #waiting = -1;
  #stop: () => void;

  constructor(session: Session) {
    this.#session = session;
    this.#stop = listenWeakly(this, [CONNECTED, DISCONNECTED], (part) => part.#draw());
  }

  /** Return the button of a call that a model's code has served; it appears with the kernel that has the run. */
  show(call: number): HTMLElement[] {
    const { kernel, trace } = this.#session;
    const { backend, kind } = trace.header.models[trace.calls.model[call]] ?? {};
    const isServed = backend === "python" && kind === "model" && trace.calls.execution[call] > 0;
    if (!kernel || !isServed || trace.has(call, Flag.RUNNING)) return [];
    this.#shown = trace.id(call);
    kernel.onFound(() => this.#draw());
    this.#draw();
    return [this.#element];
  }

  dispose(): void {
    this.#stop();
  }

  #draw(): void {
    const isConnected = this.#session.kernel?.isConnected ?? false;
    const said = this.#said.get(this.#shown) ?? "";
    setText(this.#status, said);
    this.#button.setAttribute("aria-disabled", String(this.#waiting >= 0));
    const wanted = [...(isConnected ? [this.#button] : []), ...(isConnected || said ? [this.#status] : [])];
    // The focus stays on a button that stays.
    if (wanted.length !== this.#element.childElementCount) this.#element.replaceChildren(...wanted);
  }

  async #debug(): Promise<void> {
    const { kernel, trace } = this.#session;
    if (!kernel || this.#waiting >= 0) return;
    const id = (this.#waiting = this.#shown);
    this.#said.set(id, WAITING);
    this.#draw();
    try {
      const { done } = await kernel.debug(trace.header.run.id, id);
      this.#said.set(id, done ?? "");
    } catch (error) {
      const isClosed = error instanceof QueryError && error.code === "superseded";
      this.#said.set(id, isClosed ? "" : messageOf(error));
    } finally {
      this.#waiting = -1;
      this.#draw();
    }
  }
}
