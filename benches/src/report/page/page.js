"use strict";
(() => {
  const form = document.getElementById("filters");
  const best = document.getElementById("best");
  const count = document.getElementById("count");
  const tip = document.getElementById("tip");
  const root = document.documentElement;
  const axes = ["op", "input", "format", "contender", "dtype", "threads"];
  const field = (name) => form.elements[name];

  // What is there: each row with what it is found and sorted by.
  const number = (cell) => {
    const found = cell.textContent.match(/[\d.]+(e[+-]?\d+)?/);
    return found ? Number(found[0]) : NaN;
  };
  const rows = [];
  for (const section of document.querySelectorAll("section.op")) {
    for (const body of section.querySelectorAll(".times tbody")) {
      const title = body.rows[0].textContent;
      for (const row of [...body.rows].slice(1)) {
        const [contender, format] = row.cells[0].children;
        const about = {
          row, body, section,
          op: section.dataset.op, input: body.dataset.input,
          dtype: body.dataset.dtype, threads: body.dataset.threads,
          contender: contender.textContent, format: format.textContent,
          rest: row.classList.contains("rest"),
          keys: {
            name: contender.textContent + " " + format.textContent,
            time: Number(row.dataset.time), rate: number(row.cells[3]),
            same: number(row.cells[4]), any: number(row.cells[5]),
          },
        };
        about.text = [about.op, title, about.keys.name].join(" ").toLowerCase();
        rows.push(about);
      }
    }
  }
  const bodies = new Map();
  for (const about of rows) {
    if (!bodies.has(about.body)) bodies.set(about.body, []);
    bodies.get(about.body).push(about);
  }
  const order = new Map([...bodies.keys()].map((body, at) => [body, at]));

  // Sorting: rows within an input, and inputs by their first row that is shown.
  let sort = "";
  const compare = (key, down) => (a, b) => {
    const [x, y] = [a.keys[key], b.keys[key]];
    if (typeof x === "string") return (down ? -1 : 1) * x.localeCompare(y);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return down ? y - x : x - y;
  };
  const arrange = () => {
    const down = sort.startsWith("-");
    const key = sort.replace("-", "");
    const by = compare(key || "time", down);
    for (const table of document.querySelectorAll(".times")) {
      const firsts = [...table.tBodies].map((body) => {
        const sorted = bodies.get(body).sort(by);
        body.append(...sorted.map((about) => about.row));
        return sorted.find((about) => !about.row.hidden && !(best.checked && about.rest)) || sorted[0];
      });
      firsts.sort(key ? by : (a, b) => order.get(a.body) - order.get(b.body));
      table.append(...firsts.map((about) => about.body));
      for (const head of table.querySelectorAll("[data-sort]")) {
        if (head.dataset.sort === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      }
    }
  };
  for (const head of document.querySelectorAll("[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const key = head.dataset.sort;
    // The first click shows what is most looked for: least time, most of all else.
    const turns = key === "time" || key === "name" ? [key, "-" + key, ""] : ["-" + key, key, ""];
    button.addEventListener("click", () => {
      sort = turns[(turns.indexOf(sort) + 1) % turns.length];
      update();
    });
  }

  // Filters, and how many rows they leave.
  const apply = () => {
    const words = field("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = axes.filter((name) => field(name)?.value).map((name) => [name, field(name).value]);
    const filtered = words.length + wanted.length > 0;
    let shown = 0;
    for (const about of rows) {
      about.row.hidden = !(words.every((word) => about.text.includes(word)) &&
        wanted.every(([name, value]) => about[name] === value));
      if (!about.row.hidden && !(best.checked && about.rest)) shown += 1;
    }
    for (const [body, own] of bodies) {
      body.hidden = own.every((about) => about.row.hidden || (best.checked && about.rest));
    }
    for (const section of document.querySelectorAll("section.op")) {
      const own = [...section.querySelectorAll(".times tbody")];
      section.hidden = filtered && own.every((body) => body.hidden);
    }
    count.textContent = `${shown} of ${rows.length} measurements shown`;
  };

  // The view as the end of the address, so that it can be sent.
  const update = () => {
    apply();
    arrange();
    const state = new URLSearchParams();
    for (const name of ["q", ...axes]) if (field(name)?.value) state.set(name, field(name).value);
    if (sort) state.set("sort", sort);
    if (!best.checked) state.set("all", "1");
    const text = state.toString();
    const bare = location.href.split("#")[0];
    if (text || location.hash.includes("=")) history.replaceState(null, "", text ? `${bare}#${text}` : bare);
    reachable();
  };
  const restore = () => {
    const hash = location.hash.slice(1);
    // Else it is the name of a section, which may be hidden.
    const section = document.getElementById(hash);
    if (section?.hidden) {
      for (const name of ["q", ...axes]) if (field(name)) field(name).value = "";
      section.hidden = false;
      section.scrollIntoView();
    }
    if (hash.includes("=")) {
      const state = new URLSearchParams(hash);
      for (const name of ["q", ...axes]) if (field(name)) field(name).value = state.get(name) || "";
      sort = /^-?(name|time|rate|same|any)$/.test(state.get("sort")) ? state.get("sort") : "";
      best.checked = state.get("all") !== "1";
    }
    update();
  };

  // Details: of what is pointed at, or what the keyboard is at: rows of times, cells of ratios. A table is one stop of
  // the tabulator; arrows go on from there.
  for (const item of document.querySelectorAll("td[title], tr[title]")) {
    // The browser would show a title as well.
    item.dataset.tip = item.title;
    item.removeAttribute("title");
    item.tabIndex = -1;
  }
  const seen = (table) => [...table.querySelectorAll("[data-tip]")].filter((item) => item.offsetParent);
  const reachable = () => {
    for (const table of document.querySelectorAll(".times, .ratios")) {
      const items = seen(table);
      for (const item of items) item.tabIndex = -1;
      if (items.length) items[0].tabIndex = 0;
    }
  };
  const next = (item, key) => {
    const all = seen(item.closest("table"));
    const at = all.indexOf(item);
    const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
    if (!way) return undefined;
    if (item.cellIndex === undefined || key === "ArrowLeft" || key === "ArrowRight") return all[at + way];
    const same = all.filter((other) => other.cellIndex === item.cellIndex);
    return same[same.indexOf(item) + way];
  };
  const hide = () => {
    tip.hidden = true;
    document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
  };
  const show = (item) => {
    hide();
    tip.textContent = item.dataset.tip;
    tip.hidden = false;
    item.setAttribute("aria-describedby", "tip");
    const at = item.getBoundingClientRect();
    const below = at.bottom + tip.offsetHeight + 6 < innerHeight;
    tip.style.top = `${below ? at.bottom + 6 : Math.max(0, at.top - tip.offsetHeight - 6)}px`;
    const left = (item.cells ? item.cells[1] : item).getBoundingClientRect().left;
    tip.style.left = `${Math.max(6, Math.min(left, innerWidth - tip.offsetWidth - 6))}px`;
  };
  const told = (event) => event.target.closest?.("[data-tip]");
  for (const kind of ["pointerover", "focusin"]) {
    document.addEventListener(kind, (event) => told(event) ? show(told(event)) : hide());
  }
  document.addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const from = told(event);
    const to = from && next(from, event.key);
    if (!to) return;
    event.preventDefault();
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
    show(to);
  });

  form.addEventListener("input", (event) => {
    // Who looks for a format wants to see it, whether it is anybody's best or not.
    if (event.target.name === "format" && event.target.value) best.checked = false;
    update();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { sort = ""; best.checked = true; update(); }));
  best.addEventListener("change", update);
  addEventListener("hashchange", restore);
  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", reachable);

  // Colours: those of the system, unless others are chosen; remembered where the browser allows it.
  const theme = document.querySelector("#theme select");
  try { theme.value = localStorage.getItem("theme") || ""; } catch { /* Not remembered. */ }
  root.dataset.theme = theme.value;
  theme.addEventListener("change", () => {
    root.dataset.theme = theme.value;
    try { localStorage.setItem("theme", theme.value); } catch { /* Not remembered. */ }
  });

  const save = document.getElementById("save");
  save.href = URL.createObjectURL(new Blob([document.getElementById("data").textContent], { type: "application/json" }));
  save.hidden = false;
  form.hidden = theme.parentElement.hidden = false;
  restore();
})();
