"use strict";
// One page, one or two runs side by side: SMs over time, warps of an SM, single stays, counters.

const FIELDS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array};
const BINS = 16384, CELLS = 8e6, GAP = 1, HEAT = 14, AXIS = 16, LEFT = 46, STRIP = 46;
const view = {begin: 0, end: 1};
const runs = [];
let chosen = null;  // {run, warp, stay} or {run, request}

const $ = (id) => document.getElementById(id);
const element = (tag, text, kind) => {
  const one = document.createElement(tag);
  if (text !== undefined) one.textContent = text;
  if (kind) one.className = kind;
  return one;
};
const several = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
const number = (value) => Math.round(value).toLocaleString("en-US");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

async function column(told) {
  const bytes = Uint8Array.from(atob(told.data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new FIELDS[told.type](await new Response(stream).arrayBuffer());
}

// The first place in [low, high) of a sorted column whose value is above `value`.
function after(sorted, value, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

class Run {
  constructor(facts, columns) {
    Object.assign(this, facts);
    this.c = columns;
    this.warpsOf = Array.from({length: this.sms}, () => []);
    for (let w = 0; w < columns.warp.length; w++) this.warpsOf[columns.warp_sm[w]].push(w);
    this.slots = 1 + columns.warp_slot.reduce((most, one) => Math.max(most, one), 0);
    this.slot = this.slots > 24 ? 9 : 14;
    this.sm = Math.max(0, this.warpsOf.findIndex((warps) => warps.length));
    this.requestsOf = this.byWarp();
    this.coarse = this.levels();
  }
  first(w) { return this.c.warp_first[w]; }
  last(w) { return w + 1 < this.c.warp.length ? this.c.warp_first[w + 1] : this.c.stay_begin.length; }
  born(w) { return this.c.stay_begin[this.first(w)]; }
  endOf(stay, w) { return stay + 1 < this.last(w) ? this.c.stay_begin[stay + 1] : this.c.warp_end[w]; }
  stayAt(w, cycle) { return after(this.c.stay_begin, cycle, this.first(w), this.last(w)) - 1; }
  warpIndex(warp) {
    const found = after(this.c.warp, warp, 0, this.c.warp.length) - 1;
    return found >= 0 && this.c.warp[found] === warp ? found : -1;
  }
  byWarp() {
    const of = new Map();
    const warps = this.c.request_warp || [];
    for (let r = 0; r < warps.length; r++) {
      if (!of.has(warps[r])) of.set(warps[r], [r, r]);
      of.get(warps[r])[1] = r + 1;
    }
    return of;
  }
  page(request) { return Math.floor(this.c.request_line[request] / this.lines); }
  // Warp-cycles by SM, bin and state of the whole run: what is drawn until one looks closer.
  levels() {
    const states = this.states.length, most = Math.floor(CELLS / (this.sms * states));
    const bins = Math.max(Math.min(BINS, most), 2048), width = (this.end - this.begin) / bins;
    return {bins, width, sums: this.warpsOf.map((warps) => this.sums(warps, this.begin, width, bins, states))};
  }
  sums(warps, begin, width, bins, states) {
    const sums = new Float32Array(bins * states), end = begin + width * bins, c = this.c;
    for (const w of warps) {
      if (this.born(w) >= end || c.warp_end[w] <= begin) continue;
      for (let stay = Math.max(this.stayAt(w, begin), this.first(w)); stay < this.last(w); stay++) {
        const from = Math.max(c.stay_begin[stay], begin), to = Math.min(this.endOf(stay, w), end);
        if (from >= end) break;
        const state = c.stay_state[stay];
        const low = Math.floor((from - begin) / width), high = Math.min(Math.ceil((to - begin) / width), bins);
        for (let bin = low; bin < high; bin++) {
          const at = begin + bin * width;
          sums[bin * states + state] += Math.min(to, at + width) - Math.max(from, at);
        }
      }
    }
    return sums;
  }
  // Sums of an SM in the view, as fine as pixels, or as coarse as what is there already.
  heat(sm, pixels) {
    const states = this.states.length, width = (view.end - view.begin) / pixels;
    if (width < this.coarse.width) {
      return {bins: pixels, width, sums: this.sums(this.warpsOf[sm], view.begin, width, pixels, states)};
    }
    const sums = new Float32Array(pixels * states), own = this.coarse.sums[sm];
    const first = Math.max(Math.floor((view.begin - this.begin) / this.coarse.width), 0);
    const last = Math.min(Math.ceil((view.end - this.begin) / this.coarse.width), this.coarse.bins);
    for (let bin = first; bin < last; bin++) {
      const at = Math.floor((this.begin + (bin + 0.5) * this.coarse.width - view.begin) / width);
      if (at < 0 || at >= pixels) continue;
      for (let state = 0; state < states; state++) sums[at * states + state] += own[bin * states + state];
    }
    return {bins: pixels, width, sums};
  }
  launchesAt(app, cycle) {
    return this.launches.filter((one) => one.app === this.apps[app] && one.begin <= cycle && cycle < one.end);
  }
  waiters(walk) {
    const found = [], of = this.c.request_walk;
    for (let r = 0; r < of.length; r++) if (of[r] === walk) found.push(r);
    return found.sort((a, b) => this.c.request_begin[a] - this.c.request_begin[b]);
  }
}

// -- drawing -----------------------------------------------------------------------------------

const x = (cycle, width) => LEFT + ((cycle - view.begin) / (view.end - view.begin)) * (width - LEFT);
const cycleAt = (place, width) => view.begin + ((place - LEFT) / (width - LEFT)) * (view.end - view.begin);

function prepare(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.parentElement.clientWidth;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "10px system-ui, sans-serif";
  pen.textBaseline = "middle";
  return {pen, width};
}

// Cycles: both ends of the view, and round numbers between them where there is room.
function axis(pen, width, y) {
  const ends = [number(view.begin), number(view.end)], room = 8;
  pen.fillStyle = colour("--quiet");
  pen.textAlign = "right";
  pen.fillText("cycle", LEFT - 6, y + 10);
  pen.fillText(ends[1], width, y + 10);
  pen.textAlign = "left";
  pen.fillText(ends[0], LEFT, y + 10);
  const low = LEFT + pen.measureText(ends[0]).width + room, high = width - pen.measureText(ends[1]).width - room;
  const about = (view.end - view.begin) / Math.max(2, Math.floor((width - LEFT) / 90));
  const power = 10 ** Math.floor(Math.log10(about)), step = [1, 2, 5, 10].map((f) => f * power).find((one) => one >= about);
  pen.textAlign = "center";
  const whole = Math.max(step, 1);
  for (let cycle = Math.ceil(view.begin / whole) * whole; cycle <= view.end; cycle += whole) {
    const at = x(cycle, width), half = pen.measureText(number(cycle)).width / 2;
    pen.fillRect(at, y, 1, 4);
    if (at - half > low && at + half < high) pen.fillText(number(cycle), at, y + 10);
  }
}

function shade(sums, at, states, run, mode, most) {
  let total = 0, best = 0, share = 0;
  for (let state = 0; state < states; state++) {
    const value = sums[at * states + state];
    total += value;
    if (value > sums[at * states + best]) best = state;
    if (mode !== "state" && run.states[state].family === mode) share += value;
  }
  if (!total) return null;
  if (mode === "state") return {fill: run.states[best].colour, alpha: 0.25 + 0.75 * Math.min(total / most, 1)};
  return {fill: colour("--heat"), alpha: share / total};
}

function drawHeat(run) {
  const height = run.sms * HEAT + AXIS, {pen, width} = prepare(run.heatCanvas, height);
  const pixels = Math.max(1, Math.floor(width - LEFT)), states = run.states.length, mode = $("mode").value;
  pen.textAlign = "right";
  for (let sm = 0; sm < run.sms; sm++) {
    const found = run.heat(sm, pixels), most = run.slots * found.width;
    pen.fillStyle = colour(sm === run.sm ? "--text" : "--quiet");
    pen.globalAlpha = 1;
    pen.fillText(`SM ${sm}`, LEFT - 6, sm * HEAT + HEAT / 2);
    for (let at = 0; at < found.bins; at++) {
      const told = shade(found.sums, at, states, run, mode, most);
      if (!told) continue;
      pen.globalAlpha = told.alpha;
      pen.fillStyle = told.fill;
      pen.fillRect(LEFT + at, sm * HEAT, 1, HEAT - GAP);
    }
    if (sm === run.sm) {
      pen.globalAlpha = 1;
      pen.strokeStyle = colour("--text");
      pen.strokeRect(LEFT + 0.5, sm * HEAT + 0.5, width - LEFT - 1, HEAT - GAP - 1);
    }
  }
  pen.globalAlpha = 1;
  axis(pen, width, run.sms * HEAT);
  drawBrush(run, pen, width, height);
}

function drawBrush(run, pen, width, height) {
  if (!brush || brush.run !== run) return;
  const from = Math.min(brush.from, brush.to), to = Math.max(brush.from, brush.to);
  pen.fillStyle = colour("--brush");
  pen.fillRect(from, 0, to - from, height - AXIS);
}

function drawRows(run) {
  const height = run.slots * run.slot + AXIS, {pen, width} = prepare(run.rowsCanvas, height);
  pen.textAlign = "right";
  pen.fillStyle = colour("--quiet");
  for (let slot = 0; slot < run.slots; slot += Math.max(1, Math.ceil(12 / run.slot))) {
    pen.fillText(`slot ${slot}`, LEFT - 6, slot * run.slot + run.slot / 2);
  }
  const c = run.c, pixel = (view.end - view.begin) / (width - LEFT);
  for (const w of run.warpsOf[run.sm]) {
    if (run.born(w) >= view.end || c.warp_end[w] <= view.begin) continue;
    const y = c.warp_slot[w] * run.slot;
    let stay = Math.max(run.stayAt(w, view.begin), run.first(w));
    while (stay < run.last(w) && c.stay_begin[stay] < view.end) {
      let to = run.endOf(stay, w), state = c.stay_state[stay], longest = to - c.stay_begin[stay], next = stay + 1;
      while (next < run.last(w) && to - c.stay_begin[stay] < pixel) {  // several stays in a pixel
        const end = run.endOf(next, w);
        if (end - c.stay_begin[next] > longest) { longest = end - c.stay_begin[next]; state = c.stay_state[next]; }
        to = end;
        next++;
      }
      const from = Math.max(x(c.stay_begin[stay], width), LEFT), until = Math.min(x(to, width), width);
      pen.fillStyle = run.states[state].colour;
      pen.fillRect(from, y, Math.max(until - from, 1), run.slot - GAP);
      stay = next;
    }
  }
  axis(pen, width, run.slots * run.slot);
  drawChosen(run, pen, width);
}

// The chosen stay, and arrows from its walk to everyone on this SM who waits for it.
function drawChosen(run, pen, width) {
  if (!chosen || chosen.run !== run) return;
  const c = run.c, w = chosen.warp;
  pen.lineWidth = 2;
  pen.strokeStyle = colour("--text");
  if (w >= 0 && c.warp_sm[w] === run.sm && chosen.stay >= 0) {
    const from = x(c.stay_begin[chosen.stay], width), to = x(run.endOf(chosen.stay, w), width);
    pen.strokeRect(from, c.warp_slot[w] * run.slot - 1, Math.max(to - from, 2), run.slot + 1);
  }
  if (chosen.walk >= 0 && c.walk_page) {
    const done = x(c.walk_finished[chosen.walk], width), asked = x(c.walk_requested[chosen.walk], width);
    const origin = w >= 0 && c.warp_sm[w] === run.sm ? c.warp_slot[w] * run.slot + run.slot / 2 : 0;
    pen.fillStyle = colour("--brush");
    pen.fillRect(asked, 0, done - asked, run.slots * run.slot);
    for (const request of chosen.waiters) {
      const other = run.warpIndex(c.request_warp[request]);
      if (other < 0 || c.warp_sm[other] !== run.sm) continue;
      arrow(pen, done, origin, x(c.request_end[request], width), c.warp_slot[other] * run.slot + run.slot / 2);
    }
  }
  pen.lineWidth = 1;
}

function arrow(pen, x0, y0, x1, y1) {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  pen.strokeStyle = pen.fillStyle = colour("--text");
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x1, y1);
  for (const turn of [-0.4, 0.4]) pen.lineTo(x1 - 7 * Math.cos(angle + turn), y1 - 7 * Math.sin(angle + turn));
  pen.fill();
}

// Whether a colour is nearly as bright as the ground.
function isFaint(fill) {
  const bright = (text) => {
    const hex = text.length > 4 ? text.slice(1) : [...text.slice(1)].map((one) => one + one).join("");
    return (0.299 * parseInt(hex.slice(0, 2), 16) + 0.587 * parseInt(hex.slice(2, 4), 16) + 0.114 * parseInt(hex.slice(4, 6), 16)) / 255;
  };
  return Math.abs(bright(fill) - bright(colour("--back"))) < 0.25;
}

// A line's name with its unit, unless the name says it.
const withUnit = (name, unit) => (name.includes(unit) ? name : `${name} (${unit === "fraction" ? "share" : unit})`);
const PALETTE = ["--line1", "--line2", "--line3", "--line4", "--line5", "--line6"];

// Of the values from one bin to another that there are.
function mean(values, from, to) {
  let sum = 0, count = 0;
  for (let bin = from; bin < to; bin++) if (!Number.isNaN(values[bin])) { sum += values[bin]; count++; }
  return count ? sum / count : NaN;
}

const groupsOf = (run) => [...new Set(run.counters.map((one) => one.group))];

// Name, cycles and means of each line of a group, as a view of this width shows them.
function linesOf(run, group, pixels) {
  return run.counters.map((one, n) => [one, run.c[`counter_${n}`]]).filter(([one]) => one.group === group).map(([one, values]) => {
    const step = (run.end - run.begin) / values.length, points = [];
    const many = Math.max(Math.floor((view.end - view.begin) / pixels / step), 1);  // bins of a pixel
    const first = Math.max(Math.floor((view.begin - run.begin) / step) - 1, 0);
    const last = Math.min(Math.ceil((view.end - run.begin) / step) + 1, values.length);
    for (let bin = first - (first % many); bin < last; bin += many) {
      points.push([run.begin + (bin + many / 2) * step, mean(values, bin, Math.min(bin + many, values.length))]);
    }
    return {name: one.name, fill: one.colour, unit: one.unit, points};
  });
}

function drawCounters(run) {
  const groups = groupsOf(run);
  const {pen, width} = prepare(run.countersCanvas, groups.length * STRIP + AXIS);
  groups.forEach((group, place) => {
    const top = place * STRIP, lines = linesOf(run, group, width - LEFT);
    const shown = runs.flatMap((one) => (one === run ? lines : linesOf(one, group, width - LEFT)));  // runs share their scale
    const told = shown.reduce((most, line) => line.points.reduce((high, [, value]) => (value > high ? value : high), most), 0), most = told || 1;
    pen.textAlign = "right";
    pen.fillStyle = colour("--quiet");
    pen.fillText(told >= 10 || !told ? number(told) : told.toPrecision(2), LEFT - 6, top + 12);
    if (told) pen.fillText("0", LEFT - 6, top + STRIP - 6);
    pen.fillRect(LEFT - 3, top + 12, 3, 1);
    pen.fillRect(LEFT - 3, top + STRIP - 4, 3, 1);
    let label = LEFT + 4;
    lines.forEach(({name, fill, unit, points}, n) => {
      const height = (value) => top + STRIP - 4 - (value / most) * (STRIP - 16);
      if (fill && isFaint(fill)) {  // states have one colour on any ground
        pen.strokeStyle = colour("--halo");
        pen.lineWidth = 3;
        trace(pen, points, width, height);
        pen.lineWidth = 1;
      }
      pen.strokeStyle = pen.fillStyle = fill || colour(PALETTE[n % PALETTE.length]);
      trace(pen, points, width, height);
      pen.textAlign = "left";
      pen.fillRect(label, top + 3, 8, 6);
      pen.fillStyle = colour("--text");
      const words = n ? name : withUnit(name, unit);
      if (label < width) pen.fillText(words, label + 11, top + 6);
      label += pen.measureText(words).width + 23;
    });
  });
  axis(pen, width, groups.length * STRIP);
}

// A line through points, with a gap where there is no number; a lonely point is a dash.
function trace(pen, points, width, height) {
  pen.beginPath();
  let open = false;
  for (const [cycle, value] of points) {
    if (Number.isNaN(value)) { open = false; continue; }
    const at = Math.min(Math.max(x(cycle, width), LEFT), width), y = height(value);
    if (!open) pen.moveTo(at - 0.5, y);
    pen.lineTo(open ? at : at + 0.5, y);
    open = true;
  }
  pen.stroke();
}

let waiting = false;
function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const run of runs) { drawHeat(run); drawRows(run); drawCounters(run); }
    $("span").textContent = `cycles ${number(view.begin)} to ${number(view.end)} (${number(view.end - view.begin)})`;
    document.body.dataset.begin = Math.round(view.begin);
    document.body.dataset.end = Math.round(view.end);
    document.body.dataset.ready = "yes";
  });
}

// -- moving ------------------------------------------------------------------------------------

function show(begin, end) {
  const low = Math.min(...runs.map((run) => run.begin)), high = Math.max(...runs.map((run) => run.end));
  const span = Math.min(Math.max(end - begin, 20), high - low);
  view.begin = Math.min(Math.max(begin, low), high - span);
  view.end = view.begin + span;
  draw();
}
const all = () => show(-Infinity, Infinity);
function zoom(factor, around) {
  const middle = around === undefined ? (view.begin + view.end) / 2 : around;
  show(middle - (middle - view.begin) * factor, middle + (view.end - middle) * factor);
}

let brush = null;
function place(event, canvas) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top, box.width];
}

function listen(run) {
  const heat = run.heatCanvas, rows = run.rowsCanvas;
  heat.addEventListener("pointerdown", (event) => {
    const [from, y] = place(event, heat);
    heat.setPointerCapture(event.pointerId);
    brush = {run, from, to: from, y};
  });
  heat.addEventListener("pointermove", (event) => {
    if (!brush || brush.run !== run) return;
    brush.to = place(event, heat)[0];
    draw();
  });
  heat.addEventListener("pointermove", (event) => {
    const [at, y, width] = place(event, heat);
    tip(hintOfSm(run, cycleAt(at, width), (view.end - view.begin) / (width - LEFT), Math.floor(y / HEAT)), event);
  });
  heat.addEventListener("pointerup", (event) => {
    if (!brush) return;
    const {from, to, y} = brush, width = heat.getBoundingClientRect().width;
    brush = null;
    if (Math.abs(to - from) > 4) show(cycleAt(Math.min(from, to), width), cycleAt(Math.max(from, to), width));
    else select(run, Math.min(Math.floor(y / HEAT), run.sms - 1));
    event.preventDefault();
  });
  let dragged = null;
  rows.addEventListener("pointerdown", (event) => {
    dragged = {at: place(event, rows)[0], begin: view.begin, end: view.end, moved: false};
    rows.setPointerCapture(event.pointerId);
  });
  rows.addEventListener("pointermove", (event) => {
    const [at, y, width] = place(event, rows);
    if (!dragged) { tip(hintOfStay(run, cycleAt(at, width), Math.floor(y / run.slot)), event); return; }
    if (Math.abs(at - dragged.at) > 3) dragged.moved = true;
    if (!dragged.moved) return;
    const by = ((dragged.at - at) / (width - LEFT)) * (dragged.end - dragged.begin);
    show(dragged.begin + by, dragged.end + by);
  });
  rows.addEventListener("pointerup", (event) => {
    const [at, y, width] = place(event, rows);
    if (dragged && !dragged.moved) pick(run, cycleAt(at, width), Math.floor(y / run.slot));
    dragged = null;
  });
  run.countersCanvas.addEventListener("pointermove", (event) => {
    const [at, y, width] = place(event, run.countersCanvas);
    tip(hintOfCounters(run, cycleAt(at, width), Math.floor(y / STRIP)), event);
  });
  for (const canvas of [heat, rows, run.countersCanvas]) {
    canvas.addEventListener("pointermove", (event) => {
      const [at, , width] = place(event, canvas);
      cross(at < LEFT ? null : cycleAt(at, width));
    });
    canvas.addEventListener("pointerleave", () => { $("hint").hidden = true; cross(null); });
    canvas.addEventListener("wheel", (event) => {
      const [at, , width] = place(event, canvas);
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, cycleAt(at, width));
    }, {passive: false});
    canvas.addEventListener("dblclick", all);
  }
}

function select(run, sm) {
  run.sm = sm;
  run.rowsTitle.textContent = `Warps of SM ${sm}, by slot`;
  draw();
}

function stayUnder(run, cycle, slot) {
  for (const w of run.warpsOf[run.sm]) {
    if (run.c.warp_slot[w] === slot && run.born(w) <= cycle && cycle < run.c.warp_end[w]) {
      return {warp: w, stay: run.stayAt(w, cycle)};
    }
  }
  return null;
}

function hintOfStay(run, cycle, slot) {
  const found = stayUnder(run, cycle, slot);
  if (!found) return "";
  const state = run.states[run.c.stay_state[found.stay]].name, begin = run.c.stay_begin[found.stay];
  return `warp ${run.c.warp[found.warp]}: ${state}, ${several(run.endOf(found.stay, found.warp) - begin, "cycle")} from ${number(begin)}`;
}

// What the warps of an SM did in the cycles of a pixel: the states that took most.
function hintOfSm(run, cycle, width, sm) {
  if (cycle < view.begin || sm >= run.sms) return "";
  const sums = run.sums(run.warpsOf[sm], cycle, width, 1, run.states.length), total = sums.reduce((a, b) => a + b, 0);
  if (!total) return `SM ${sm}, cycle ${number(cycle)}: no warps`;
  const shares = [...sums].map((sum, state) => [sum / total, run.states[state].name]).filter(([share]) => share >= 0.05);
  shares.sort((a, b) => b[0] - a[0]);
  const warps = (total / width).toFixed(1);
  return `SM ${sm}, cycle ${number(cycle)}: ${warps} warps, ${shares.slice(0, 4).map(([share, name]) => `${name} ${Math.round(100 * share)} %`).join(", ")}`;
}

function hintOfCounters(run, cycle, place) {
  const group = groupsOf(run)[place];
  if (cycle < view.begin || group === undefined) return "";
  const told = run.counters.map((one, n) => [one, run.c[`counter_${n}`]]).filter(([one]) => one.group === group).map(([one, values]) => {
    const value = values[Math.min(Math.max(Math.floor(((cycle - run.begin) / (run.end - run.begin)) * values.length), 0), values.length - 1)];
    return `${one.name} ${Number.isNaN(value) ? "–" : Number(value.toPrecision(3)).toLocaleString("en-US")}`;
  });
  return `cycle ${number(cycle)}: ${told.join(", ")}`;
}

function tip(text, event) {
  const box = $("hint");
  box.hidden = !text;
  box.textContent = text;
  if (text) {
    box.style.left = `${Math.max(Math.min(event.clientX + 12, window.innerWidth - box.offsetWidth - 8), 0)}px`;
    box.style.top = `${event.clientY + 14}px`;
  }
}

// A line at the same cycle in all pictures of all runs.
function cross(cycle) {
  for (const line of document.querySelectorAll(".cross")) {
    line.hidden = cycle === null;
    if (cycle !== null) line.style.left = `${x(cycle, line.parentElement.clientWidth)}px`;
  }
}

function pick(run, cycle, slot) {
  const found = stayUnder(run, cycle, slot);
  chosen = found && {run, ...found, walk: -1, waiters: []};
  if (chosen) {
    const own = requestsDuring(run, found.warp, found.stay), waits = own.find((r) => run.c.request_walk[r] >= 0);
    if (waits !== undefined && run.states[run.c.stay_state[found.stay]].family === "translation") follow(run, waits);
  }
  tell();
  draw();
}

function follow(run, request) {
  chosen.request = request;
  chosen.walk = run.c.request_walk[request];
  chosen.waiters = chosen.walk >= 0 ? run.waiters(chosen.walk) : [];
}

function requestsDuring(run, w, stay) {
  const range = run.requestsOf.get(run.c.warp[w]);
  if (!range) return [];
  const begin = run.c.stay_begin[stay], end = run.endOf(stay, w), found = [];
  for (let r = range[0]; r < range[1]; r++) {
    if (run.c.request_begin[r] < end && run.c.request_end[r] > begin) found.push(r);
  }
  return found;
}

// -- telling -----------------------------------------------------------------------------------

function tell() {
  const box = $("details");
  box.replaceChildren();
  if (!chosen) { box.append(element("p", "Click a stay to see what its warp waited for.", "quiet")); return; }
  const {run, warp: w} = chosen, c = run.c;
  if (w >= 0) {
    const begin = c.stay_begin[chosen.stay], end = run.endOf(chosen.stay, w), launches = run.launchesAt(c.warp_app[w], begin);
    box.append(element("h3", `Warp ${c.warp[w]}: ${run.states[c.stay_state[chosen.stay]].name}`));
    facts(box, {
      "cycles": `${number(begin)} to ${number(end)}: ${number(end - begin)}`, "SM, slot": `${c.warp_sm[w]}, ${c.warp_slot[w]}`,
      "application": run.apps[c.warp_app[w]], "kernel": launches.map((one) => `${one.kernel} (launch ${one.launch})`).join(", or ") || "–",
    });
    const own = requestsDuring(run, w, chosen.stay);
    if (!c.request_warp) box.append(element("p", "No transactions were recorded: run it with --record intervals,requests,walks.", "quiet"));
    else {
      box.append(element("h4", `${several(own.length, "transaction")} under way`));
      list(box, run, own);
    }
  }
  if (chosen.request !== undefined) tellRequest(box, run, chosen.request);
}

function facts(box, told) {
  const table = element("dl");
  for (const [name, value] of Object.entries(told)) table.append(element("dt", name), element("dd", value));
  box.append(table);
}

function list(box, run, requests) {
  const c = run.c, some = requests.slice(0, 40), rows = element("ul");
  for (const r of some) {
    const item = element("button", `${run.kinds[c.request_kind[r]]} of page ${hex(run.page(r))}, warp ${c.request_warp[r]}: ${several(c.request_end[r] - c.request_begin[r], "cycle")}${c.request_walk[r] >= 0 ? ", waited for a walk" : ""}`);
    item.addEventListener("click", () => { go(run, r); });
    const row = element("li");
    row.append(item);
    rows.append(row);
  }
  box.append(rows);
  if (requests.length > some.length) box.append(element("p", `and ${requests.length - some.length} more`, "quiet"));
}

const hex = (value) => `0x${value.toString(16)}`;

function go(run, request) {
  const w = run.warpIndex(run.c.request_warp[request]);
  chosen = {run, warp: w, stay: w < 0 ? -1 : run.stayAt(w, run.c.request_begin[request]), walk: -1, waiters: []};
  if (w >= 0) select(run, run.c.warp_sm[w]);
  follow(run, request);
  const begin = run.c.request_begin[request], end = run.c.request_end[request];
  if (end < view.begin || begin > view.end || (end - begin) / (view.end - view.begin) < 0.02) show(begin - 2 * (end - begin), end + 2 * (end - begin));
  tell();
  draw();
}

function tellRequest(box, run, r) {
  const c = run.c;
  box.append(element("h4", `Transaction ${c.request_row[r]}: ${run.kinds[c.request_kind[r]]} of ${hex(c.request_line[r] * run.line)}`));
  const to = r + 1 < c.request_stage.length ? c.request_stage[r + 1] : c.stage_state.length, bar = element("div", undefined, "bar");
  for (let s = c.request_stage[r]; s < to; s++) {
    const part = element("span"), cycles = c.stage_end[s] - c.stage_begin[s];
    part.style.flexGrow = cycles;
    part.style.background = run.states[c.stage_state[s]].colour;
    part.title = `${run.states[c.stage_state[s]].name}: ${several(cycles, "cycle")}`;
    bar.append(part);
  }
  box.append(bar);
  const sums = new Map();
  for (let s = c.request_stage[r]; s < to; s++) {
    const name = run.states[c.stage_state[s]].name;
    sums.set(name, (sums.get(name) || 0) + c.stage_end[s] - c.stage_begin[s]);
  }
  facts(box, Object.fromEntries([...sums].map(([name, cycles]) => [name, several(cycles, "cycle")])));
  const walk = c.request_walk[r];
  if (walk < 0) return;
  const waiters = run.waiters(walk);
  box.append(element("h4", `Its walk: page ${hex(c.walk_page[walk])}`));
  facts(box, {
    "asked for by SM": `${c.walk_sm[walk]}`, "waited for a walker": several(c.walk_started[walk] - c.walk_requested[walk], "cycle"),
    "walked": `${several(c.walk_finished[walk] - c.walk_started[walk], "cycle")}, ${several(c.walk_levels[walk], "level")}`,
    "transactions that waited": `${waiters.length}, of ${several(new Set(waiters.map((one) => c.request_warp[one])).size, "warp")}`,
  });
  list(box, run, waiters);
}

function search(text) {
  const told = $("found"), word = text.trim().toLowerCase();
  const warp = word.match(/^(?:warp\s*)?(\d+)$/), page = word.match(/^(?:page\s*)?(0x[0-9a-f]+)$/);
  if (!word) told.textContent = "";
  else if (page) told.textContent = searchPage(parseInt(page[1], 16));
  else if (warp) told.textContent = searchWarp(Number(warp[1]));
  else told.textContent = searchKernel(word);
  if (word && !told.textContent) told.textContent = "nothing found: a page (0x…), a warp (its number), or a kernel's name";
}

const ofRun = (run) => (runs.length > 1 ? ` in ${run.title}` : "");

function searchPage(wanted) {
  const found = runs.map((run) => {
    const c = run.c, some = [];
    for (let r = 0; r < (c.request_line || []).length; r++) if (run.page(r) === wanted) some.push(r);
    return [run, some.sort((a, b) => c.request_begin[a] - c.request_begin[b])];
  }).filter(([, some]) => some.length);
  if (!found.length) return "";
  go(found[0][0], found[0][1][0]);
  const box = $("details"), told = element("div");
  for (const [run, some] of found) {
    told.append(element("h3", `Page ${hex(wanted)}: ${several(some.length, "transaction")}${ofRun(run)}`));
    list(told, run, some);
  }
  box.prepend(told);
  return `${several(found.reduce((sum, [, some]) => sum + some.length, 0), "transaction")} of page ${hex(wanted)}`;
}

function searchWarp(number_) {
  const found = runs.map((run) => [run, run.warpIndex(number_)]).filter(([, w]) => w >= 0);
  if (!found.length) return "";
  for (const [run, w] of found) select(run, run.c.warp_sm[w]);
  const [run, w] = found[0];
  chosen = {run, warp: w, stay: run.first(w), walk: -1, waiters: []};
  show(Math.min(...found.map(([one, at]) => one.born(at))), Math.max(...found.map(([one, at]) => one.c.warp_end[at])));
  tell();
  return `warp ${number_} on SM ${run.c.warp_sm[w]}`;
}

// All launches of kernels or applications of that name; the first one is shown.
function searchKernel(word) {
  const box = element("div");
  let count = 0, first = null;
  for (const run of runs) {
    const found = run.launches.filter((one) => one.kernel.toLowerCase().includes(word) || one.app.toLowerCase().includes(word));
    if (!found.length) continue;
    count += found.length;
    first = first || found[0];
    box.append(element("h3", `${several(found.length, "launch", "launches")} of ${word}${ofRun(run)}`));
    const rows = element("ul");
    for (const one of found.slice(0, 200)) {
      const item = element("button", `${one.app}: ${one.kernel}, launch ${one.launch}: ${several(one.end - one.begin, "cycle")} from ${number(one.begin)}`), row = element("li");
      item.addEventListener("click", () => show(one.begin, one.end));
      row.append(item);
      rows.append(row);
    }
    box.append(rows);
    if (found.length > 200) box.append(element("p", `and ${found.length - 200} more`, "quiet"));
  }
  if (!first) return "";
  tell();
  $("details").prepend(box);
  show(first.begin, first.end);
  return several(count, "launch", "launches");
}

// -- starting ----------------------------------------------------------------------------------

function build(run, at) {
  const box = element("section", undefined, "run");
  box.append(element("h2", run.title));
  for (const warning of run.warnings) box.append(element("p", warning, "warning"));
  for (const [name, title] of [["heat", "SMs: drag to look closer, click for its warps"], ["rows", `Warps of SM ${run.sm}, by slot`], ["counters", "Over time"]]) {
    const heading = element("h3", title), frame = element("div", undefined, "frame"), canvas = element("canvas");
    canvas.id = `${name}${at}`;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${title}, ${run.title}`);
    run[`${name}Canvas`] = canvas;
    run[`${name}Title`] = heading;
    const line = element("div", undefined, "cross");
    line.hidden = true;
    frame.append(canvas, line);
    box.append(heading, frame);
  }
  $("runs").append(box);
  listen(run);
}

async function start() {
  const told = JSON.parse($("data").textContent);
  for (const facts of told) {
    const names = Object.keys(facts.columns), values = await Promise.all(names.map((name) => column(facts.columns[name])));
    delete facts.columns;
    runs.push(new Run(facts, Object.fromEntries(names.map((name, n) => [name, values[n]]))));
  }
  const seen = new Map(runs.flatMap((run) => run.states.map((one) => [one.name, one.colour])));
  for (const [name, fill] of seen) {
    const item = element("li", name), key = element("i");
    key.style.background = fill;
    item.prepend(key);
    $("legend").append(item);
  }
  runs.forEach(build);
  $("mode").addEventListener("change", draw);
  $("whole").addEventListener("click", all);
  $("search").addEventListener("change", (event) => search(event.target.value));
  window.addEventListener("resize", draw);
  window.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" || event.target.tagName === "SELECT") return;
    const quarter = (view.end - view.begin) / 4;
    const keys = {
      ArrowLeft: () => show(view.begin - quarter, view.end - quarter), ArrowRight: () => show(view.begin + quarter, view.end + quarter),
      "+": () => zoom(0.5), "-": () => zoom(2), "0": all,
      ArrowUp: () => runs.forEach((run) => select(run, Math.max(run.sm - 1, 0))),
      ArrowDown: () => runs.forEach((run) => select(run, Math.min(run.sm + 1, run.sms - 1))),
    };
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  tell();
  all();
}
start();
