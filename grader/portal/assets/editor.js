// The editor of CUDA C++ in place of a text area, which stays the field of its form.
//
// It lives in a shadow root: CodeMirror then adds its styles as constructed style sheets, which the
// portal's Content-Security-Policy allows, and not as a style element, which it blocks.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import {
  HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree,
} from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import {
  Decoration, EditorView, MatchDecorator, ViewPlugin, highlightSpecialChars, keymap, lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

const NAME = "The text of the submission. Tab indents; Escape and then Tab leaves the editor.";

// What CUDA adds to C++, which the grammar reads as names and operators.
const CUDA = new RegExp(
  [
    "\\b__(?:global|device|host|shared|constant|managed|restrict|launch_bounds|grid_constant" +
      "|cluster_dims|forceinline|noinline)__\\b",
    "\\b(?:threadIdx|blockIdx|blockDim|gridDim|warpSize|dim3)\\b",
    "\\b__(?:sync(?:threads|warp)\\w*|shfl\\w*|ballot_sync|a(?:ny|ll)_sync|activemask|match_\\w+" +
      "|reduce_\\w+_sync|threadfence\\w*|ldg|popc|ffs|clz|fmaf_\\w+)\\b",
    "\\batomic(?:Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)(?:_block|_system)?\\b",
    "<<<|>>>",
  ].join("|"),
  "g",
);
const OTHER_TEXT = /Comment|String|Char|SystemLib/;

const words = new MatchDecorator({
  regexp: CUDA,
  decorate(add, from, to, match, view) {
    const there = syntaxTree(view.state).resolveInner(from, 1).name;
    if (!OTHER_TEXT.test(there)) add(from, to, Decoration.mark({ class: "cm-cuda" }));
  },
});

const cudaWords = ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.decorations = words.createDeco(view);
    }

    update(update) {
      // A comment is known as one only when the parser has come that far.
      const parsed = syntaxTree(update.startState) !== syntaxTree(update.state);
      this.decorations = parsed ? words.createDeco(update.view) : words.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword, tags.definitionKeyword], color: "var(--word)" },
  { tag: [tags.typeName, tags.standard(tags.typeName), tags.bool, tags.null], color: "var(--word)" },
  { tag: [tags.string, tags.character, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.processingInstruction], color: "var(--number)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

// The marks are drawn without the pictures of the library: they are data: addresses, which the
// Content-Security-Policy does not allow. Errors are round, warnings are not.
const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--card)", border: "1px solid var(--soft)", borderRadius: "6px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "2px" },
  ".cm-scroller": {
    font: "13px/1.55 ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace", minHeight: "18rem", maxHeight: "36rem",
  },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--soft)", backgroundColor: "transparent", border: "0" },
  ".cm-cuda, .cm-cuda *": { color: "var(--accent)", fontWeight: "600" },
  "&.cm-focused .cm-matchingBracket, &.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--none-bg)", outline: "1px solid var(--soft)" },
  ".cm-lintRange-error, .cm-lintRange-warning, .cm-lintRange-info": { backgroundImage: "none", paddingBottom: "0" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--fail)" },
  ".cm-lintRange-warning, .cm-lintRange-info": { textDecoration: "underline wavy var(--warn)" },
  ".cm-lintRange-active": { backgroundColor: "var(--warn-bg)" },
  ".cm-searchMatch": { backgroundColor: "var(--warn-bg)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--warn-bg)", outline: "2px solid var(--accent)" },
  ".cm-lint-marker": { content: "normal", width: ".7em", height: ".7em", margin: ".35em .15em 0", cursor: "help" },
  ".cm-lint-marker-error": { content: "normal", backgroundColor: "var(--fail)", borderRadius: "50%" },
  ".cm-lint-marker-warning, .cm-lint-marker-info": { content: "normal", backgroundColor: "var(--warn)", clipPath: "polygon(50% 0, 100% 100%, 0 100%)" },
  ".cm-tooltip, .cm-panels": { color: "var(--ink)", backgroundColor: "var(--card)", borderColor: "var(--line)" },
  ".cm-tooltip": { maxWidth: "min(34rem, 85vw)", overflowWrap: "break-word" },
  ".cm-diagnostic": { font: "14px/1.45 system-ui, 'DejaVu Sans', sans-serif" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--fail)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label": { fontSize: "14px" },
  ".cm-textfield": { color: "var(--ink)", backgroundColor: "var(--paper)", border: "1px solid var(--soft)" },
  ".cm-button": { color: "var(--ink)", backgroundImage: "none", backgroundColor: "var(--none-bg)", border: "1px solid var(--soft)" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { color: "var(--ink)", backgroundColor: "var(--none-bg)" },
  ".cm-panel.cm-panel-lint ul:focus [aria-selected]": { color: "var(--ink)", backgroundColor: "var(--none-bg)" },
});

/** Returns findings as diagnostics: each marks the text of its line. */
function diagnosticsOf(doc, marks) {
  return marks
    .filter(([line]) => line >= 1 && line <= doc.lines)
    .map(([number, severity, message]) => {
      const line = doc.line(number);
      const from = line.from + line.text.search(/\S|$/);
      const known = severity === "error" || severity === "warning" ? severity : "info";
      return { from, to: Math.max(from, line.to), severity: known, message };
    });
}

function mount(field) {
  const host = document.createElement("div");
  host.className = "editor";
  const root = host.attachShadow({ mode: "open" });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const scheme = new Compartment();
  const submit = () => (field.form.requestSubmit(), true);
  const state = EditorState.create({
    doc: field.value,
    extensions: [
      lineNumbers(), lintGutter(), highlightSpecialChars(), history(), indentOnInput(), bracketMatching(),
      EditorState.tabSize.of(4), indentUnit.of("    "), EditorView.lineWrapping, search({ top: true }),
      cpp(), syntaxHighlighting(colors), cudaWords, look, scheme.of(EditorView.darkTheme.of(dark.matches)),
      keymap.of([
        { key: "Mod-Enter", run: submit }, ...searchKeymap, ...lintKeymap, ...historyKeymap, indentWithTab,
        ...defaultKeymap.filter((binding) => binding.key !== "Mod-Enter"),
      ]),
      EditorView.contentAttributes.of({ "aria-label": NAME, autocapitalize: "off" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) field.value = update.state.doc.toString();
      }),
      // The form takes a dropped file as a file.
      EditorView.domEventHandlers({ drop: (event) => event.dataTransfer.files.length > 0 }),
    ],
  });
  field.after(host);
  const view = new EditorView({ state, parent: root, root });
  field.hidden = true;
  for (const label of field.labels) label.addEventListener("click", () => view.focus());
  dark.addEventListener("change", () =>
    view.dispatch({ effects: scheme.reconfigure(EditorView.darkTheme.of(dark.matches)) }),
  );
  const marks = JSON.parse(field.dataset.marks || "[]");
  if (marks.length) view.dispatch(setDiagnostics(view.state, diagnosticsOf(view.state.doc, marks)));
  for (const hint of document.querySelectorAll("[data-editor-hint]")) hint.hidden = false;
}

for (const field of document.querySelectorAll("textarea[data-editor]")) mount(field);
