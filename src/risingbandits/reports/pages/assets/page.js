/* Draws the figures of the page, keeps their colours in step with light and dark, and follows a live server. */
(() => {
  "use strict";
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const hidden = new Map(Object.keys(figures).map((key) => [key, new Set()]));
  const DASHES = ["solid", "9px,4px", "2px,3px", "10px,3px,2px,3px"];
  const PATTERNS = ["", "/", "x", "."];
  const SVG = "http://www.w3.org/2000/svg";
  const CONFIG = {
    responsive: true, displaylogo: false, showSendToCloud: false, showEditInChartStudio: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendDataToCloud"],
  };

  /* Colours live in the style sheet; a figure only knows places in the palette. */
  function palette() {
    const style = getComputedStyle(root);
    const value = (name) => style.getPropertyValue(name).trim();
    return {
      series: [0, 1, 2, 3, 4, 5, 6].map((place) => value(`--series-${place}`)),
      muted: value("--muted"), text: value("--text"), soft: value("--soft"), grid: value("--grid"),
      back: value("--back"), panel: value("--panel"), line: value("--line"),
      low: value("--heat-low"), high: value("--heat-high"),
    };
  }

  function clear(colour, opacity) {
    const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return `rgba(${parts.join(",")},${opacity})`;
  }

  function shape(place, colours) {
    if (place < 0) return { colour: colours.muted, round: 0 };
    const count = colours.series.length;
    return { colour: colours.series[place % count], round: Math.floor(place / count) % DASHES.length };
  }

  function dress(trace, colours, plot) {
    const { look, ...dressed } = trace;
    const { colour, round } = shape(look.place, colours);
    if (look.kind === "heat") {
      const cell = plot.clientWidth / (dressed.x.length + 4);
      dressed.colorscale = [[0, colours.low], [1, colours.high]];
      dressed.textfont = { color: colours.text, size: Math.max(7, Math.min(12, cell * 0.42)) };
    } else if (look.kind === "bar") {
      const pattern = { shape: PATTERNS[round], fillmode: "overlay", fgcolor: colours.back, size: 6, solidity: 0.3 };
      dressed.marker = { color: clear(colour, 0.85), line: { width: 0 }, pattern };
    } else if (look.kind === "band") {
      dressed.fillcolor = clear(colour, 0.18);
    } else {
      dressed.marker = { ...dressed.marker, color: colour };
      if (dressed.line) dressed.line = { dash: DASHES[round], ...dressed.line, color: colour };
    }
    return dressed;
  }

  function draw(key) {
    const element = document.getElementById(key);
    const plot = element && element.querySelector(".plot");
    if (!plot) return Promise.resolve();
    const colours = palette();
    const off = hidden.get(key);
    const spec = figures[key];
    const bare = spec.data.length === 0;
    for (const part of element.querySelectorAll(".legend, .plot, details")) part.hidden = bare;
    if (bare) {
      window.Plotly.purge(plot);
      return Promise.resolve();
    }
    const data = spec.data.map((trace) => {
      const dressed = dress(trace, colours, plot);
      dressed.visible = !off.has(trace.legendgroup);
      return dressed;
    });
    const axis = (settings) => ({
      gridcolor: colours.grid, linecolor: colours.line, tickcolor: colours.line, ...settings,
      tickfont: { color: colours.soft, size: 12 },
      title: { ...settings.title, font: { color: colours.soft, size: 13 }, standoff: 8 },
    });
    const layout = {
      ...spec.layout, xaxis: axis(spec.layout.xaxis), yaxis: axis(spec.layout.yaxis), autosize: true,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", uirevision: "keep",
      font: { family: getComputedStyle(document.body).fontFamily, color: colours.text },
      hoverlabel: {
        bgcolor: colours.panel, bordercolor: colours.line, font: { color: colours.text, size: 12 }, namelength: 30,
      },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colours.soft, activecolor: colours.text },
    };
    legend(element, key, spec, colours);
    return window.Plotly.react(plot, data, layout, CONFIG);
  }

  /* The legend is made of buttons: it wraps on narrow screens and works by keyboard and screen reader. */
  function legend(element, key, spec, colours) {
    const box = element.querySelector(".legend");
    const wanted = JSON.stringify([spec.legend, colours.series, [...hidden.get(key)]]);
    if (box.dataset.drawn === wanted) return;
    const focused = box.contains(document.activeElement) ? document.activeElement.dataset.group : null;
    box.dataset.drawn = wanted;
    box.replaceChildren(...spec.legend.map((item) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.group = item.group;
      const off = hidden.get(key).has(item.group);
      button.setAttribute("aria-pressed", String(!off));
      button.title = `${off ? "Show" : "Hide"} ${item.text}; double-click to show it alone`;
      const text = document.createElement("bdi");
      text.textContent = item.text;
      button.append(swatch(item.look, colours), text);
      button.addEventListener("click", () => toggle(key, item.group));
      button.addEventListener("dblclick", () => alone(key, item.group));
      return button;
    }));
    if (focused !== null) [...box.children].find((button) => button.dataset.group === focused)?.focus();
  }

  function swatch(look, colours) {
    const { colour, round } = shape(look.place, colours);
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("width", "26");
    svg.setAttribute("height", "10");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(SVG, "line");
    const thick = look.kind === "line" ? 3 : 10;
    const dash = { 1: "7 3", 2: "2 2", 3: "8 2 2 2" }[round];
    for (const [name, value] of Object.entries({ x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour, "stroke-width": thick })) {
      line.setAttribute(name, value);
    }
    if (dash) line.setAttribute("stroke-dasharray", dash);
    svg.append(line);
    return svg;
  }

  function toggle(key, group) {
    const off = hidden.get(key);
    if (!off.delete(group)) off.add(group);
    draw(key);
  }

  function alone(key, group) {
    const off = hidden.get(key);
    const others = figures[key].legend.map((item) => item.group).filter((other) => other !== group);
    const already = !off.has(group) && others.every((other) => off.has(other));
    off.clear();
    if (!already) others.forEach((other) => off.add(other));
    draw(key);
  }

  /* Light and dark: the system's choice until the reader makes one. */
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  function remembered(value) {
    try {
      if (value !== undefined) localStorage.setItem("risingbandits-theme", value);
      return localStorage.getItem("risingbandits-theme");
    } catch { return null; }
  }
  function nameButton() {
    button.textContent = `Switch to ${isDark() ? "light" : "dark"} colours`;
    button.hidden = false;
  }
  async function recolour() {
    nameButton();
    for (const key of Object.keys(figures)) await draw(key);
  }
  const before = remembered();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remembered(root.dataset.theme);
    recolour();
  });
  dark.addEventListener("change", recolour);

  /* A link to a section that is folded opens it. */
  function unfold() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const folded = target && target.querySelector(":scope > details");
    if (folded) folded.open = true;
  }
  addEventListener("hashchange", unfold);
  for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", () => setTimeout(unfold));
  unfold();

  /* A live server sends blocks of HTML that it has escaped, and figures. Only the newest state is drawn. */
  function follow() {
    const status = document.getElementById("connection");
    const say = (state, text) => {
      if (status.dataset.state !== state || status.textContent !== text) {
        status.dataset.state = state;
        status.textContent = text;
      }
    };
    const changed = new Set();
    let drawing = false;
    async function redraw() {
      if (drawing) return;
      drawing = true;
      while (changed.size) {
        const key = changed.values().next().value;
        changed.delete(key);
        await draw(key);
        await new Promise(requestAnimationFrame);
      }
      drawing = false;
    }
    const source = new EventSource(`events?after=${document.body.dataset.event}`);
    source.addEventListener("open", () => say("live", "Live"));
    source.addEventListener("error", () => say("lost", "Connection lost, trying again"));
    source.addEventListener("state", (event) => {
      const state = JSON.parse(event.data);
      say(state.busy ? "lost" : "live", state.busy ? state.busy : "Live");
      for (const [id, content] of Object.entries(state.html)) {
        const element = document.getElementById(id);
        if (element) element.innerHTML = content;
      }
      for (const [key, spec] of Object.entries(state.figures)) {
        figures[key] = spec;
        changed.add(key);
      }
      document.body.dataset.event = event.lastEventId;
      redraw();
    });
  }

  /* What is on the first screen is drawn at once, the rest whenever there is nothing else to do. */
  async function start() {
    const idle = window.requestIdleCallback || ((then) => setTimeout(then, 1));
    const below = [];
    nameButton();
    for (const key of Object.keys(figures)) {
      const element = document.getElementById(key);
      if (element && element.getBoundingClientRect().top < innerHeight) await draw(key);
      else below.push(key);
    }
    document.body.dataset.ready = "true";
    if (document.body.dataset.event !== undefined) follow();
    for (const key of below) {
      await new Promise((then) => idle(then, { timeout: 500 }));
      await draw(key);
    }
    document.body.dataset.drawn = "true";
  }
  start();
})();
