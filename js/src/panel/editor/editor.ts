/** Editors of `config.pbtxt` and of `%%triton_config` cells: colours and completion. */

import { CONFIG_COMPLETION } from "./completion.ts";
import { CONFIG_PARSER, isConfigCell } from "./configlanguage.ts";
import { meaningAt } from "./configplace.ts";
import { h } from "../../page/dom.ts";

type Extension = unknown;

/** What the modules of CodeMirror share. */
export interface CodeMirror {
  StreamLanguage: { define(parser: object): { extension: Extension } };
  LanguageSupport: new (language: unknown, more: Extension) => unknown;
  hoverTooltip(find: (view: { state: { doc: Text } }, at: number) => object | null): Extension;
  Compartment: new () => { of(content: Extension): Extension; reconfigure(content: Extension): unknown };
  Prec: { highest(extension: Extension): Extension };
  EditorState: { transactionExtender: { of(extend: (change: Change) => object | null): Extension } };
  EditorExtensionRegistry: { createImmutableExtension(extension: Extension): unknown };
}

interface Change {
  docChanged: boolean;
  newDoc: Text;
  startState: { doc: Text };
}

interface Text {
  sliceString(from: number, to?: number): string;
  toString(): string;
}

export interface Languages {
  addLanguage(language: object): void;
}

export interface Extensions {
  addExtension(factory: { name: string; factory(options: EditorOptions): unknown }): void;
}

interface EditorOptions {
  inline?: boolean;
  model?: { sharedModel?: { getSource(): string } };
}

export interface Completers {
  registerProvider(provider: object): void;
}

/** Number of characters that a cell's magic is looked for in. */
const HEAD = 200;

/** Add the language; what a host lacks is left out. */
export function addLanguage(code: CodeMirror, languages: Languages | null, extensions: Extensions | null): void {
  const language = code.StreamLanguage.define(CONFIG_PARSER);
  const hover = code.hoverTooltip(({ state }, at) => tooltip(state.doc.toString(), at));
  languages?.addLanguage({
    name: CONFIG_PARSER.name,
    displayName: "Triton configuration",
    mime: "text/x-triton-config",
    extensions: ["pbtxt"],
    support: new code.LanguageSupport(language, hover),
  });
  extensions?.addExtension({
    name: "blsnb:config-cells",
    factory: ({ inline, model }) => {
      const source = inline ? (model?.sharedModel?.getSource() ?? "") : null;
      const found = source === null ? [] : cellLanguage(code, [language.extension, hover], source);
      return code.EditorExtensionRegistry.createImmutableExtension(found);
    },
  });
}

export function addCompletion(completers: Completers): void {
  completers.registerProvider(CONFIG_COMPLETION);
}

/** Return what CodeMirror shows over a word: its meaning. */
function tooltip(text: string, at: number): object | null {
  const found = meaningAt(text, at);
  if (!found) return null;
  const dom = h("div", {}, found.meaning);
  Object.assign(dom.style, { maxWidth: "60ch", padding: "4px 8px" });
  return { pos: found.start, end: found.end, above: true, create: () => ({ dom }) };
}

/** Return an extension whose language takes the place of Python while a cell is a configuration. */
function cellLanguage(code: CodeMirror, language: Extension, source: string): Extension {
  const place = new code.Compartment();
  const chosen = (isConfig: boolean): Extension => (isConfig ? code.Prec.highest(language) : []);
  const follow = code.EditorState.transactionExtender.of(({ docChanged, newDoc, startState }) => {
    if (!docChanged) return null;
    const [before, after] = [startState.doc, newDoc].map((text) => isConfigCell(text.sliceString(0, HEAD)));
    return before === after ? null : { effects: place.reconfigure(chosen(after)) };
  });
  return [place.of(chosen(isConfigCell(source.slice(0, HEAD)))), follow];
}
