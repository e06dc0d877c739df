// Search, filters and the switch of themes. Pages are whole without it.
"use strict";

const MOST = 40; // results shown
const root = document.body.dataset.root;

// Words: lower case, names split at underscores and where capitals begin, prefixes and suffixes of the ABI dropped.

function words(text) {
  return text
    .replace(/\bDML_OPERATOR_(?=\w)|\bDML_(?=\w+_OPERATOR_DESC\b)|_OPERATOR_DESC\b/g, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9.]+/)
    .map((word) => word.replace(/^\.+|\.+$/g, ""))
    .filter(Boolean);
}

// Whether two words differ by one letter: changed, missing, added, or two neighbors swapped.

function isNear(a, b) {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const left = a.slice(start, a.length - end);
  const right = b.slice(start, b.length - end);
  return (left.length <= 1 && right.length <= 1) || (left.length === 2 && left === right[1] + right[0]);
}

function wordScore(wanted, word) {
  if (word === wanted) return 10;
  if (word.startsWith(wanted)) return 6 + wanted.length / word.length;
  if (wanted.length >= 3 && word.includes(wanted)) return 3;
  if (wanted.length >= 4 && (isNear(wanted, word) || isNear(wanted, word.slice(0, wanted.length)))) return 2;
  return 0;
}

// Every wanted word has to be found; how well they are on the whole, 0 for not at all. The name counts most.

function score(wanted, entry) {
  let total = 0;
  for (const word of wanted) {
    let best = 0;
    for (const one of entry.name) best = Math.max(best, 3 * wordScore(word, one));
    for (const one of entry.rest) best = Math.max(best, wordScore(word, one));
    if (best === 0) return 0;
    total += best;
  }
  return total / wanted.length;
}

// The index as entries of one form: `whole` are names without what separates their words.

function entriesOf(index) {
  const entries = [];
  const add = (kind, weight, title, url, text, names, rest) => {
    const split = names.map(words);
    const whole = split.map((name) => name.join(""));
    entries.push({ kind, weight, title, url, text, whole, name: [...split.flat(), ...whole], rest: words(rest) });
  };
  const general = { "-1": ["every operator", "general.html"], "-2": ["graphs", "graphs.html"], "-3": ["bindings", "bindings.html"] };
  const operatorName = (number) => general[number]?.[0] ?? index.operators[number][0];
  const page = (number) => general[number]?.[1] ?? `operators/${operatorName(number).toLowerCase()}.html`;
  index.operators.forEach(([name, since, summary, alias], number) => {
    add("operator", 1.6, name, page(number), `since ${since}. ${summary}`, alias ? [name, alias] : [name], summary);
  });
  for (const [title, url, text] of index.pages) add("page", 1.3, title, url, text, [title], text);
  for (const [title, url, text] of index.elsewhere) add("elsewhere", 0.4, title, url, text, [title], text);
  for (const [name, numbers] of Object.entries(index.members)) {
    for (const number of numbers) {
      const operator = operatorName(number);
      add("member", 1.1, `${operator}.${name}`, `${page(number)}#${name}`, `member of ${operator}`, [name, operator], "");
    }
  }
  for (const [number, id, text] of index.rules) {
    add("rule", 1, id, `${page(number)}#${id}`, text, [id], `${text} rule`);
  }
  for (const [number, id, text] of index.data) {
    const title = `${operatorName(number)}: ${id}`;
    add("data", 1, title, `${page(number)}#data-${id}`, text, [title], text);
  }
  return entries;
}

// Messages: a pattern is what a message says, with a mark where it shows a value.

function patternsOf(index) {
  const literal = (part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+");
  return Object.entries(index.messages).map(([text, rules]) => {
    const parts = text.split("\u0001");
    const expression = new RegExp(parts.map(literal).join("[^;]{1,300}?"), "i");
    return { expression, text, words: new Set(words(parts.join(" "))), rules };
  });
}

class Search {
  constructor(index) {
    this.index = index;
    this.entries = entriesOf(index);
    this.rules = this.entries.filter((entry) => entry.kind === "rule");
    this.patterns = null;
  }

  find(text) {
    const query = text.trim();
    const identifiers = query.match(/DML-[A-Z0-9_]+-[a-z0-9-]+/g) || [];
    const named = this.rules.filter((entry) => identifiers.includes(entry.title));
    const messages = /\s(is|are|has|must|should|needs|cannot|does not)\s/.test(query) ? this.ofMessage(query) : [];
    const found = new Set([...named, ...messages]);
    return [...(found.size ? found : this.ofWords(words(query)))].slice(0, MOST);
  }

  // The rules whose messages say that: first those of an operator that the text names, then those that say most
  // of it, then those whose identifiers have its words.
  ofMessage(query) {
    this.patterns ??= patternsOf(this.index);
    const said = new Set(words(query).filter((word) => !/^[0-9.]+$/.test(word)));
    const named = new Set(query.toUpperCase().match(/[A-Z][A-Z0-9]*(_[A-Z0-9]+)*/g) || []);
    const isOfNamed = (operator) => operator >= 0 && named.has(this.index.operators[operator][0]);
    const matches = this.matching(query);
    const holds = (number) => this.index.rules[number][0] === -1 || isOfNamed(this.index.rules[number][0]);
    const isFound = matches.some(([, pattern]) => pattern.rules.some(holds));  // not only a rule of graphs or bindings
    const isOperatorNamed = this.index.operators.some(([name]) => named.has(name));
    const ranks = new Map();
    for (const [points, pattern] of isFound || (matches.length && !isOperatorNamed) ? matches : [...matches, ...this.alike(said)]) {
      for (const number of pattern.rules) {
        const [operator, id] = this.index.rules[number];
        const isNamed = isOfNamed(operator);
        const rank = 1000 * isNamed + points + words(id).filter((word) => said.has(word)).length;
        ranks.set(number, Math.max(rank, ranks.get(number) || 0));
      }
    }
    return [...ranks].sort((a, b) => b[1] - a[1]).map(([number]) => this.rules[number]);
  }

  // The patterns that a message follows, with how much of it they say; far shorter ones left out.
  matching(query) {
    const found = this.patterns.filter(({ expression, text }) => text.length > 12 && expression.test(query));
    const longest = Math.max(0, ...found.map(({ text }) => text.length));
    return found.filter(({ text }) => text.length >= longest * 0.75).map((pattern) => [pattern.text.length, pattern]);
  }

  // The patterns that share most words with a part of a message, with the share in percent.
  alike(said) {
    const shares = this.patterns.map((pattern) => {
      const both = [...pattern.words].filter((word) => said.has(word)).length;
      return [both < 4 ? 0 : (200 * both) / (pattern.words.size + said.size), pattern];
    });
    const best = Math.max(50, ...shares.map(([share]) => share));
    return shares.filter(([share]) => share >= best * 0.8);
  }

  // The entries that have all the words. A query that is the beginning of a name, however it is spelled, comes first.
  ofWords(wanted) {
    const joined = wanted.join("");
    const scored = [];
    for (const entry of this.entries) {
      const isName = entry.whole.includes(joined);
      const begins = joined.length > 4 && entry.whole.some((name) => name.startsWith(joined));
      const points = wanted.length && (score(wanted, entry) || (begins ? 25 : 0)) + (isName ? 40 : begins ? 5 : 0);
      if (points > 0) scored.push([points * entry.weight, entry]);
    }
    return scored.sort((a, b) => b[0] - a[0] || a[1].title.length - b[1].title.length).map(([, entry]) => entry);
  }
}

function startSearch() {
  const form = document.querySelector(".search");
  const input = document.querySelector("#query");
  const list = document.querySelector("#results");
  const count = document.querySelector("#count");
  let search = null;
  let chosen = -1;

  const close = () => {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (number) => {
    const items = [...list.children];
    if (!items.length) return;
    chosen = (number + items.length) % items.length;
    items.forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
    items[chosen].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", items[chosen].id);
  };
  const show = () => {
    search ??= new Search(searchIndex);
    const found = search.find(input.value);
    list.replaceChildren(
      ...found.map((entry, number) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        const title = document.createElement("b");
        const text = document.createElement("span");
        item.id = `result-${number}`;
        item.role = "option";
        item.ariaSelected = "false";
        link.href = root + entry.url;
        link.tabIndex = -1;
        title.textContent = entry.title;
        text.textContent = entry.text.length > 160 ? `${entry.text.slice(0, 160)} …` : entry.text;
        link.append(title, text);
        item.append(link);
        return item;
      }),
    );
    const asked = input.value.trim() !== "";
    count.textContent = !asked ? "" : found.length ? `${found.length} result${found.length > 1 ? "s" : ""}` : "Nothing found";
    close();
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(found.length > 0));
    if (found.length) choose(0);
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", show);
  input.addEventListener("focus", () => input.value && show());
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      const link = list.children[chosen].firstElementChild;
      close();
      location.href = link.href;
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (list.hidden) input.blur();
      close();
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
  document.addEventListener("click", (event) => form.contains(event.target) || close());
}

// A filter hides the rows that do not have all its words, or not what its lists say, and groups without rows.

function startFilter(form) {
  const groups = [...document.querySelectorAll(`#${form.dataset.filter} [data-group]`)];
  const output = form.querySelector("output");
  const apply = () => {
    const wanted = words(form.elements.words.value);
    const source = form.elements.source?.value;
    const kind = form.elements.kind?.value;
    const level = form.elements.level?.value;
    const fresh = form.elements.new?.value;
    let shown = 0;
    for (const group of groups) {
      let any = false;
      for (const row of group.querySelectorAll("[data-words]")) {
        const has = words(row.dataset.words);
        has.push(has.join(""));
        const visible =
          wanted.every((word) => has.some((one) => one.includes(word))) &&
          (!source || row.dataset.source === source) &&
          (!kind || row.dataset.kind === kind) &&
          (!level || Number(row.dataset.level) <= Number(level)) &&
          (!fresh || row.dataset.level === fresh);
        row.hidden = !visible;
        any ||= visible;
        shown += visible;
      }
      group.hidden = !any;
    }
    output.textContent = `${shown} shown`;
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", apply);
}

function startThemes() {
  const button = document.querySelector("#theme");
  const themes = ["system", "light", "dark"];
  let theme = rememberedTheme();
  const show = () => {
    showTheme(theme);
    button.textContent = `Theme: ${theme}`;
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // the choice holds for this page alone
    }
    show();
  });
  show();
}

// A box that scrolls can be reached by the keyboard; one that need not scroll is no stop on the way.

function startScrolling() {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(".scroll").forEach((box) => observer.observe(box));
}

startThemes();
startScrolling();
startSearch();
document.querySelectorAll("form.filter").forEach(startFilter);
