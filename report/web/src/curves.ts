// Curves over an axis, drawn by uPlot: colours and dashes both tell them apart, the legend shows values under the pointer.
import uPlot from 'uplot';
import { colour } from './canvas';
import { el } from './dom';

export interface Curve {
  name: string;
  values: (number | null)[];
}
export interface Axis {
  label: string;
  text: (value: number) => string;
  whole?: boolean; // only whole numbers stand for something
}

const kColours = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#7A5195', '#999999'];
const kDashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

// `marks`: places on the x axis with an upright line.
export function curves(x: number[], list: Curve[], across: Axis, up: Axis, marks: number[] = []): HTMLElement {
  const box = el('div', { class: 'curves' });
  const axis = (a: Axis): uPlot.Axis => ({
    label: a.label,
    stroke: () => colour('--quiet'),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { stroke: () => colour('--line'), width: 1 },
    values: (_, ticks) => ticks.map((t) => (a.whole && !Number.isInteger(t) ? '' : a.text(t))),
    size: a === up ? 80 : 50,
  });
  const plot = new uPlot({
    width: 800, height: 320,
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
    axes: [axis(across), axis(up)],
    series: [
      { label: across.label, value: (_, v) => (v === null ? '-' : across.text(v)) },
      ...list.map((c, i): uPlot.Series => ({
        label: c.name, stroke: kColours[i % kColours.length]!, dash: kDashes[i % kDashes.length]!, width: 2,
        points: { show: x.length <= 40 }, value: (_, v) => (v === null ? '-' : up.text(v)),
      })),
    ],
    hooks: {
      draw: [(u) => {
        for (const m of marks) {
          const at = Math.round(u.valToPos(m, 'x', true));
          u.ctx.save();
          u.ctx.strokeStyle = colour('--mark');
          u.ctx.setLineDash([6, 4]);
          u.ctx.beginPath();
          u.ctx.moveTo(at, u.bbox.top);
          u.ctx.lineTo(at, u.bbox.top + u.bbox.height);
          u.ctx.stroke();
          u.ctx.restore();
        }
      }],
    },
  }, [x, ...list.map((c) => c.values)], box);
  new ResizeObserver(() => plot.setSize({ width: Math.max(280, box.clientWidth), height: 320 })).observe(box);
  addEventListener('themechange', () => plot.redraw());
  return box;
}
