// What several wholes are made of, side by side on one scale, and what each has more or less than the first, part by part. Parts
// add up to their whole, so differences of parts add up to the difference of the wholes.
import { max } from 'd3-array';
import { dot, shares } from './bars';
import { el } from './dom';
import { percent, seconds } from './format';
import { table, type Column } from './table';

export interface Part {
  text: string;
  colour: string;
  by: number[]; // seconds, by whole
}

const signed = (s: number) => (s === 0 ? '0' : `${s > 0 ? '+' : '-'}${seconds(Math.abs(s))}`);
// Below it a difference of seconds is rounding.
const kRounding = 1e-13;

// `choose`: what a click on the name of a whole does.
export function beside(names: string[], wholes: number[], parts: Part[], caption: string, choose?: (i: number) => void): HTMLElement {
  const most = max(wholes) || 1;
  const lines = parts.filter((l) => l.by.some((s) => s > 0)).sort((a, b) => max(b.by)! - max(a.by)!);
  const root = el('div', {}, el('p', { class: 'legend' }, ...lines.flatMap((l) => [dot(l.colour), `${l.text}  `])),
    ...names.map((name, i) => el('div', { class: 'beside' },
      choose ? el('button', { type: 'button', click: () => choose(i) }, name) : el('span', {}, name), el('span', { class: 'number' }, seconds(wholes[i]!)),
      shares(lines.map((l) => ({ name: `${l.text}, ${seconds(l.by[i]!)}`, colour: l.colour, value: l.by[i]! })), most, `parts of ${name}`))));
  for (let i = 1; i < names.length; ++i) {
    const more = lines.map((l) => ({ text: l.text, s: l.by[i]! - l.by[0]! })).filter((d) => Math.abs(d.s) > kRounding).sort((a, b) => Math.abs(b.s) - Math.abs(a.s));
    const all = wholes[i]! - wholes[0]!;
    root.append(el('p', { class: 'difference' }, el('strong', {}, names[i]!), `: ${signed(all)} against ${names[0]!}${all === 0 || !(wholes[0]! > 0) ? '' : ` (${percent(all / wholes[0]!)})`}` +
      `${more.length === 0 ? '' : `, which is ${more.map((d) => `${signed(d.s)} ${d.text}`).join(', ')}`}.`));
  }
  const column = (title: string, csv: string, value: (l: Part) => number, text = seconds): Column<Part> => ({ title, csv, value, text: (l) => text(value(l)) });
  root.append(table<Part>([
    { title: 'part', value: (l) => l.text },
    ...names.flatMap((name, i) => [column(name, `${name} s`, (l) => l.by[i]!), ...(i > 0 ? [column('more', `${name} more s`, (l) => l.by[i]! - l.by[0]!, signed)] : [])]),
  ], lines, { caption: names.length > 1 ? `${caption}; "more" than of ${names[0]!}` : caption }).root);
  return root;
}
