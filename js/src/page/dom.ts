/** Creation of elements: text as text nodes, no markup, no addresses. Nothing else creates elements. */

import { visible } from "./format.ts";

const SVG = "http://www.w3.org/2000/svg";
const ALLOWED =
  /^(aria-[a-z]+|class|d|data-[a-z-]+|disabled|fill|for|height|id|max|min|marker-end|markerHeight|markerWidth|orient|placeholder|preserveAspectRatio|refX|refY|role|rx|scope|step|tabindex|text-anchor|title|transform|type|value|viewBox|width|x|y)$/;

type Listener = (event: never) => void;
export type Child = Node | string | null | undefined | false | readonly Child[];
export interface Attributes {
  [name: string]:
    string | number | boolean | null | undefined | Record<string, string | number> | Listener;
}

/** Create an HTML element; `onclick` and the like are functions, `style` a record of properties. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** Create an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(
    document.createElementNS(SVG, tag) as SVGElementTagNameMap[K],
    attributes,
    children,
  );
}

/** Set the text of an element, with visible marks for invisible characters. */
export function setText(element: Element, text: string): void {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** Clear a canvas of a size in CSS pixels, and return its context. */
export function context(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixelWidth) canvas.width = pixelWidth;
  if (canvas.height !== pixelHeight) canvas.height = pixelHeight;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("this browser has no canvas");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

function filled<E extends HTMLElement | SVGElement>(
  element: E,
  attributes: Attributes,
  children: Child[],
): E {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  append(element, children);
  return element;
}

function set(element: HTMLElement | SVGElement, name: string, value: Attributes[string]): void {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
  else if (typeof value === "object") {
    for (const [property, each] of Object.entries(value))
      element.style.setProperty(property, String(each));
  } else if (ALLOWED.test(name))
    element.setAttribute(name, visible(value === true ? "" : String(value)));
  else throw new Error(`attribute ${name} is not one that the view sets`);
}

function append(parent: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (typeof child === "string") parent.append(visible(child));
    else if (child instanceof Node) parent.append(child);
    else if (child) append(parent, child);
  }
}
