/* Reads dropped CSV files of training runs, draws them, and says which commands to run. Nothing is sent anywhere. */
(() => {
  "use strict";
  const words = JSON.parse(document.getElementById("words").textContent);
  const at = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURED = 7, GREY = 60;
  let runs = [];  // {name, metrics: Map of name -> [{step, value}]}
  let names = [];  // of the files

  function cells(text) {
    const first = text.slice(0, (text + "\n").indexOf("\n"));
    const separator = [",", ";", "\t"].reduce((a, b) => (first.split(b).length > first.split(a).length ? b : a));
    const rows = [];
    let row = [], cell = "", quoted = false;
    for (let i = 0; i <= text.length; i++) {
      const c = i < text.length ? text[i] : "\n";
      if (quoted) {
        if (c === '"' && text[i + 1] === '"') { cell += '"'; i++; } else if (c === '"') quoted = false; else cell += c;
      } else if (c === '"' && cell === "") quoted = true;
      else if (c === separator || c === "\n") {
        row.push(cell.trim());
        cell = "";
        if (c === "\n") { if (row.some((one) => one)) rows.push(row); row = []; }
      } else cell += c;
    }
    return rows;
  }

  const FORM = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  function number(cell) {
    if (cell === undefined || cell === "") return null;
    if (/^[+-]?(nan)$/i.test(cell)) return NaN;
    if (/^[+-]?inf(inity)?$/i.test(cell)) return cell[0] === "-" ? -Infinity : Infinity;
    return FORM.test(cell) ? Number(cell) : null;
  }

  const find = (header, wanted) => {
    const lower = header.map((one) => one.toLowerCase());
    for (const word of wanted) if (lower.includes(word)) return lower.indexOf(word);
    return -1;
  };

  /* As the readers of the package: a table with a column that counts, a chart of Weights & Biases, or a column per arm. */
  function read(name, text) {
    const [header, ...rows] = cells(text.replace(/^\uFEFF/, ""));
    if (!header || !rows.length) throw new Error(`${name} has no rows below a header.`);
    const step = find(header, words.steps);
    const found = new Map();
    const add = (run, metric, x, y) => {
      if (!found.has(run)) found.set(run, new Map());
      const metrics = found.get(run);
      if (!metrics.has(metric)) metrics.set(metric, []);
      metrics.get(metric).push({ step: x, value: y });
    };
    const stem = name.replace(/\.[^.]*$/, "");
    if (step < 0 || header.length < 2) {
      header.forEach((arm, column) => rows.forEach((row, pull) => {
        const value = number(row[column]);
        if (value === null && row[column]) throw new Error(`${name}, row ${pull + 2}, column ${arm} must be a number, got ${row[column]}.`);
        if (value !== null) add(arm, "value", pull + 1, value);
      }));
    } else {
      const run = find(header, words.runs), clock = find(header, words.clocks);
      const pairs = header.map((one) => /^(.+) - ([^-]+?)(__MIN|__MAX)?$/.exec(one));
      const charts = pairs.some((pair) => pair) && !pairs[step];
      const tag = /^run-(.+?)-tag-(.+)$/.exec(stem);
      const exported = header.map((one) => one.toLowerCase()).sort().join() === "step,value,wall time";
      for (const row of rows) {
        const x = number(row[step]);
        header.forEach((column, place) => {
          const known = [step, run, clock].includes(place) || words.never.includes(column.toLowerCase());
          if (known || words.steps.includes(column.toLowerCase()) || words.clocks.includes(column.toLowerCase()) || column.startsWith("config/")) return;
          if (charts && (!pairs[place] || pairs[place][3])) return;
          const value = number(row[place]);
          if (value === null) return;
          if (x === null || !Number.isFinite(x)) throw new Error(`${name}, column ${header[step]} must have numbers, got ${row[step]}.`);
          if (charts) add(pairs[place][1].trim(), pairs[place][2].trim(), x, value);
          else if (exported && tag) add(tag[1], tag[2], x, value);
          else add((run >= 0 && row[run]) || stem, column, x, value);
        });
      }
    }
    if (!found.size) throw new Error(`${name} has no numbers over steps.`);
    return [...found].map(([arm, metrics]) => ({ name: arm, metrics }));
  }

  /* A step that is written again takes all later ones with it; a run that diverged ends there. */
  function curve(points) {
    let kept = [], restarted = false;
    for (const point of points) {
      while (kept.length && kept[kept.length - 1].step >= point.step) { kept.pop(); restarted = true; }
      kept.push(point);
    }
    const bad = kept.findIndex((point) => !Number.isFinite(point.value));
    return { points: bad < 0 ? kept : kept.slice(0, bad), restarted, diverged: bad >= 0 };
  }

  function guess(metric, curves) {
    const known = metric.toLowerCase().split(/[^a-z0-9]+/).filter((word) => words.low.includes(word) || words.high.includes(word));
    if (known.length) {
      const word = known[known.length - 1];
      return [words.low.includes(word) ? "minimize" : "maximize", `by the word “${word}” in its name`];
    }
    const mean = (list) => list.reduce((sum, point) => sum + point.value, 0) / list.length;
    const falls = curves.filter(({ points }) => {
      const third = Math.max(1, Math.floor(points.length / 3));
      return mean(points.slice(-third)) < mean(points.slice(0, third));
    }).length / curves.length;
    return falls >= 0.8 ? ["minimize", "falls in most runs"] : ["maximize", falls <= 0.2 ? "rises in most runs" : "a guess: neither name nor values say it"];
  }

  function ranks(values) {
    const order = values.map((value, i) => [value, i]).sort((a, b) => a[0] - b[0]);
    const found = new Array(values.length);
    for (let i = 0; i < order.length;) {
      let j = i;
      while (j < order.length && order[j][0] === order[i][0]) j++;
      for (let k = i; k < j; k++) found[order[k][1]] = (i + j - 1) / 2;
      i = j;
    }
    return found;
  }

  function correlation(a, b) {
    const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
    const [ra, rb] = [ranks(a), ranks(b)], [ma, mb] = [mean(ra), mean(rb)];
    const sum = (f) => ra.reduce((total, _, i) => total + f(ra[i] - ma, rb[i] - mb), 0);
    return sum((x, y) => x * y) / Math.sqrt(sum((x) => x * x) * sum((_, y) => y * y));
  }

  function early(curves) {
    const longest = Math.max(...curves.map(({ points }) => points.length));
    const whole = curves.filter(({ points }) => points.length >= 0.8 * longest);
    const length = Math.min(...whole.map(({ points }) => points.length));
    if (whole.length < 5 || length < 10) return null;
    const last = Math.max(1, Math.ceil(0.05 * length));
    const end = whole.map(({ points }) => points.slice(length - last, length).reduce((sum, p) => sum + p.value, 0) / last);
    return [0.1, 0.2, 0.5].map((share) => correlation(whole.map(({ points }) => points[Math.max(1, Math.ceil(share * length)) - 1].value), end));
  }

  function draw(curves, direction) {
    const sign = direction === "maximize" ? 1 : -1;
    const last = (one) => sign * one.points[one.points.length - 1].value;
    const sorted = [...curves].sort((a, b) => last(b) - last(a));
    const coloured = sorted.slice(0, COLOURED), others = sorted.slice(COLOURED);
    const every = Math.max(1, Math.ceil(others.length / GREY));
    const shown = [...others.filter((_, i) => i % every === 0), ...coloured];
    const all = shown.flatMap(({ points }) => points);
    const range = (list) => list.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]);
    const [x0, x1] = range(all.map((p) => p.step)), [y0, y1] = range(all.map((p) => p.value));
    const x = (v) => 50 + 740 * ((v - x0) / (x1 - x0 || 1)), y = (v) => 300 - 280 * ((v - y0) / (y1 - y0 || 1));
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 800 330");
    svg.setAttribute("class", "curves");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${curves.length} learning curves`);
    for (const one of shown) {
      const place = coloured.indexOf(one);
      const path = document.createElementNS(SVG, "path");
      const thin = Math.max(1, Math.floor(one.points.length / 400));
      const dots = one.points.filter((_, i) => i % thin === 0 || i === one.points.length - 1);
      path.setAttribute("d", dots.map((p, i) => `${i ? "L" : "M"}${x(p.step).toFixed(1)} ${y(p.value).toFixed(1)}`).join(""));
      path.setAttribute("stroke", place < 0 ? "var(--muted)" : `var(--series-${place})`);
      const title = document.createElementNS(SVG, "title");
      title.textContent = one.name;
      path.append(title);
      svg.append(path);
    }
    const short = (v) => String(Number(v.toPrecision(4)));
    for (const [px, py, text, anchor] of [[45, 300, short(y0), "end"], [45, 26, short(y1), "end"], [50, 318, short(x0), "start"], [790, 318, short(x1), "end"]]) {
      const label = document.createElementNS(SVG, "text");
      label.setAttribute("x", px); label.setAttribute("y", py); label.setAttribute("text-anchor", anchor);
      label.textContent = text;
      svg.append(label);
    }
    at("picture").replaceChildren(svg);
    at("names").replaceChildren(...coloured.map((one, place) => {
      const item = document.createElement("span");
      item.textContent = `● ${one.name}: ${short(sign * last(one))}`;
      item.style.color = `var(--series-${place})`;
      return item;
    }));
  }

  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

  function show(chosen) {
    const metric = at("metric").value;
    const own = runs.filter((run) => run.metrics.has(metric)).map((run) => ({ name: run.name, ...curve(run.metrics.get(metric)) }));
    const curves = own.filter(({ points }) => points.length);
    if (!curves.length) { at("trouble").textContent = `${metric} has no finite numbers.`; return; }
    const [direction, reason] = chosen ? [at("direction").value, "as you say"] : guess(metric, curves);
    at("direction").value = direction;
    const lengths = curves.map(({ points }) => points.length);
    const values = Math.min(...lengths) === Math.max(...lengths) ? `${lengths[0]}` : `${Math.min(...lengths)} to ${Math.max(...lengths)}`;
    at("summary").textContent = `${curves.length} runs with ${values} values of ${metric}; ${direction} (${reason}).`;
    draw(curves, direction);
    const sign = direction === "maximize" ? 1 : -1;
    const worse = curves.filter(({ points }) => sign * (points[points.length - 1].value - points[0].value) < 0).length;
    const known = early(curves);
    const list = (some) => (some.length ? `${some.length} of ${curves.length}: ${some.slice(0, 3).map((one) => one.name).join(", ")}` : "none seen");
    const early10 = known && known.every(Number.isFinite) ? known.map((value) => value.toFixed(2)) : null;
    const rows = [
      ["end worse than they begin", worse ? `${worse} of ${curves.length} runs` : "none"],
      ["rank correlation with the end at 10, 20, 50 % of the curves", early10 ? early10.join(", ") : "cannot say: it takes five runs of ten values that were not stopped early"],
      ["restarts", list(own.filter((one) => one.restarted))],
      ["diverged", list(own.filter((one) => one.diverged))],
    ];
    at("answers").replaceChildren(...rows.map(([question, answer]) => {
      const row = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td");
      head.scope = "row";
      head.textContent = question;
      cell.textContent = answer;
      row.append(head, cell);
      return row;
    }));
    const files = names.length === 1 ? quoted(names[0]) : ".";
    const told = `${runs.some((run) => run.metrics.size > 1) ? ` --metric ${quoted(metric)}` : ""} --direction ${direction}`;
    at("commands").textContent = `pip install risingbandits\nrisingbandits check ${files}${told}\nrisingbandits replay ${files}${told}`;
    at("trouble").textContent = "";
    at("found").hidden = false;
    document.body.dataset.shown = String(curves.length);
  }

  async function take(list) {
    at("trouble").textContent = "";
    at("found").hidden = true;
    try {
      const files = [...list].sort((a, b) => (a.name < b.name ? -1 : 1));
      const taken = new Set(), found = [];
      for (const file of files) {
        const text = await file.text();
        if (text.includes("\0")) throw new Error(`${file.name} is not a text file: risingbandits curves import reads event files and databases.`);
        for (const run of read(file.name, text)) {
          const plain = run.name;
          for (let copy = 2; taken.has(run.name); copy++) run.name = `${plain} (${copy})`;
          taken.add(run.name);
          found.push(run);
        }
      }
      runs = found;
      names = files.map((file) => file.name);
      const counts = new Map();
      for (const run of runs) for (const metric of run.metrics.keys()) counts.set(metric, (counts.get(metric) || 0) + 1);
      const sorted = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
      at("metric").replaceChildren(...sorted.map((metric) => new Option(metric, metric)));
      show(false);
    } catch (error) {
      at("trouble").textContent = error.message;
    }
  }

  const zone = at("zone");
  at("files").addEventListener("change", (event) => take(event.target.files));
  at("metric").addEventListener("change", () => show(false));
  at("direction").addEventListener("change", () => show(true));
  for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); take(event.dataTransfer.files); });
})();
