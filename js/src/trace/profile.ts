/** The samples of a run, as blsnb/views/documents/profiles.py sends them. Pure. */

import { column, type Column } from "./wire.ts";

/** A line of a stack; `own` if it is in a file of the model's folder. The root of a model has no function. */
export type ProfileFrame = readonly [function_: string, file: string, line: number, own: number];

export interface ProfileEntry {
  interval_us: number;
  wanted_us: number;
  frames: ProfileFrame[];
  /** Of nodes: parent, frame, model, samples; of stacks of calls: call, node, count. */
  columns: Record<string, Column>;
  /** Number of calls whose stacks are not in the page. */
  left_out: number;
  /** Number of lines whose samples belong to their callers. */
  merged: number;
}

/** Samples by node. */
export type Counts = ReadonlyMap<number, number>;

export class Profile {
  readonly entry: ProfileEntry;
  /** Node of the caller; -1 for the root of a model. */
  readonly parent: ArrayLike<number>;
  readonly total: number;
  #columns: Record<string, ArrayLike<number>>;
  #byCall: Map<number, Map<number, number>> | undefined;

  constructor(entry: ProfileEntry, buffer: ArrayBuffer) {
    this.entry = entry;
    const columns = Object.entries(entry.columns);
    // Copied, since a later message replaces the buffer.
    this.#columns = Object.fromEntries(
      columns.map(([name, each]) => [name, column(buffer, each).slice()]),
    );
    this.parent = this.#columns.parent;
    this.total = Array.from(this.#columns.samples).reduce((sum, each) => sum + each, 0);
  }

  frame(node: number): ProfileFrame {
    return this.entry.frames[this.#columns.frame[node]];
  }

  /** Return the samples of all calls of a model. */
  ofModel(model: number): Counts {
    const { model: models, samples } = this.#columns;
    const counts = new Map<number, number>();
    for (let node = 0; node < models.length; node++)
      if (models[node] === model && samples[node]) counts.set(node, samples[node]);
    return counts;
  }

  /** Return the samples of some calls, by their ids. */
  ofCalls(ids: readonly number[]): Counts {
    const byCall = (this.#byCall ??= this.#index());
    const counts = new Map<number, number>();
    for (const id of ids)
      for (const [node, each] of byCall.get(id) ?? [])
        counts.set(node, (counts.get(node) ?? 0) + each);
    return counts;
  }

  #index(): Map<number, Map<number, number>> {
    const { call, node, count } = this.#columns;
    const byCall = new Map<number, Map<number, number>>();
    for (let row = 0; row < call.length; row++) {
      let counts = byCall.get(call[row]);
      if (!counts) byCall.set(call[row], (counts = new Map()));
      counts.set(node[row], count[row]);
    }
    return byCall;
  }
}

/** A box of a flame graph. */
export interface FlameBox {
  /** Identity of the box while samples arrive. */
  key: string;
  kind: "all" | "own" | "library" | "child";
  /** The function, or the model of child calls. */
  name: string;
  /** Where it is: the line of a cell, or of a file. */
  place: string;
  /** The source line, if it is known. */
  text: string;
  us: number;
  samples: number;
  depth: number;
  parent: FlameBox | null;
  below: FlameBox[];
  /** The model of child calls. */
  model?: number;
}

/** A line of the model with the samples of its own and of the libraries that it called. */
export interface HotLine {
  place: string;
  text: string;
  samples: number;
}

/** Names the lines of a model: by cell where its source came from one. */
export type Places = (frame: ProfileFrame) => { place: string; text: string };

/** Time in calls of another model. */
export interface ChildTime {
  model: number;
  name: string;
  calls: number;
  us: number;
}

/** Return the boxes of a flame graph below one root: own code by line, and child calls apart from it. */
export function flame(
  profile: Profile,
  counts: Counts,
  places: Places,
  children: readonly ChildTime[],
): FlameBox {
  const root = newBox("all", "all", "whole time", null);
  const boxes = new Map<number, FlameBox>();
  const boxOf = (node: number): FlameBox => {
    const known = boxes.get(node);
    if (known) return known;
    const [function_, , , own] = profile.frame(node);
    const caller = profile.parent[node];
    if (caller < 0) boxes.set(node, root);
    else {
      const { place, text } = places(profile.frame(node));
      const name = function_.slice(function_.lastIndexOf(".") + 1);
      const box = newBox(`${node}`, own ? "own" : "library", name, boxOf(caller));
      boxes.set(node, Object.assign(box, { place, text }));
    }
    return boxes.get(node) as FlameBox;
  };
  const each = profile.entry.interval_us;
  for (const [node, samples] of counts) grow(boxOf(node), samples * each, samples);
  for (const { model, name, calls, us } of children) {
    const box = newBox(`model-${model}`, "child", name, root);
    grow(Object.assign(box, { model, place: calls > 1 ? `×${calls}` : "" }), us, 0);
  }
  order(root);
  return root;
}

/** Return the lines of the model with most samples. */
export function hotLines(profile: Profile, counts: Counts, places: Places): HotLine[] {
  const lines = new Map<string, HotLine>();
  for (const [node, samples] of counts) {
    const frame = profile.frame(ownNode(profile, node));
    const { place, text } = places(frame);
    const line = lines.get(place) ?? { place, text, samples: 0 };
    line.samples += samples;
    lines.set(place, line);
  }
  return [...lines.values()].sort((a, b) => b.samples - a.samples);
}

/** Return the number of samples. */
export function totalOf(counts: Counts): number {
  let sum = 0;
  for (const each of counts.values()) sum += each;
  return sum;
}

/** Return the nearest node in a file of the model, from a node to its callers. */
function ownNode(profile: Profile, node: number): number {
  let at = node;
  while (!profile.frame(at)[3] && profile.parent[at] >= 0) at = profile.parent[at];
  return profile.frame(at)[3] ? at : node;
}

function newBox(key: string, kind: FlameBox["kind"], name: string, parent: FlameBox | null): FlameBox {
  const depth = parent ? parent.depth + 1 : 0;
  const box: FlameBox = { key, kind, name, place: "", text: "", us: 0, samples: 0, depth, parent, below: [] };
  parent?.below.push(box);
  return box;
}

function grow(box: FlameBox, us: number, samples: number): void {
  for (let at: FlameBox | null = box; at; at = at.parent) {
    at.us += us;
    at.samples += samples;
  }
}

/** Put the widest boxes first; child calls stay behind own code. */
function order(box: FlameBox): void {
  const last = (each: FlameBox): number => (each.kind === "child" ? 1 : 0);
  box.below.sort((a, b) => last(a) - last(b) || b.us - a.us);
  for (const each of box.below) order(each);
}
