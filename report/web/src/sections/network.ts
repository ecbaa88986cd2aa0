// The network, drawn: hosts as squares, switches as circles, links coloured by use or waiting. Places come from Weft
// (report/html/drawing.hpp).
import { amountColour, amountLegend } from '../amounts';
import { canvas, colour, stepped, type Canvas } from '../canvas';
import { largest, unpackAll } from '../columns';
import type { Run } from '../data';
import { el } from '../dom';
import { percent, seconds } from '../format';
import type { Choice, Section } from '../section';

const kEdge = 38; // around the drawing
const kMostNames = 90;

type Point = [number, number];

export const network: Section = {
  id: 'network',
  title: 'Network',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    const d = run.drawing;
    if (!d) return false;
    const { x, y, from, to, used, waited } = d;
    void unpackAll({ x, y, from, to, used, waited }).then((columns) => {
      const by = el('select', { 'aria-label': 'what colours mean' }, el('option', { value: 'used' }, 'use'), el('option', { value: 'waited' }, 'waiting'));
      const legend = el('div');
      const about = el('p', { class: 'note about', id: 'network-about', 'aria-live': 'polite' }, ' ');
      const measure = () => (by.value === 'waited' ? columns.waited : columns.used);
      const told = (i: number) =>
        `${d.links[i]!}: ${percent(columns.used[i]!)} used${columns.waited[i]! > 0 ? `, messages waited ${seconds(columns.waited[i]!)} for it` : ''}`;
      let most = 0;
      let over = -1;

      const place = (v: number): Point => [kEdge + columns.x[v]! * (c.width() - 2 * kEdge), kEdge + columns.y[v]! * (c.height() - 2 * kEdge)];
      // How far neighbours of a grid lie apart, along each axis.
      const step: Point = [Infinity, Infinity];
      if (d.layout === 'grid')
        d.links.forEach((_, i) => {
          const a = columns.from[i]!, b = columns.to[i]!;
          if (a < d.hosts || b < d.hosts) return;
          const far: Point = [Math.abs(columns.x[a]! - columns.x[b]!), Math.abs(columns.y[a]! - columns.y[b]!)];
          const axis = far[0] > far[1] ? 0 : 1;
          step[axis] = Math.min(step[axis], far[axis]);
        });
      // A link is bent to its right, so that the two of a cable lie apart; cables that go around a grid more, so that they
      // pass by those between.
      const bend = (i: number): [Point, Point, Point] => {
        const a = place(columns.from[i]!), b = place(columns.to[i]!);
        const dx = b[0] - a[0], dy = b[1] - a[1], far = Math.hypot(dx, dy) || 1;
        const around = Math.abs(columns.x[columns.from[i]!]! - columns.x[columns.to[i]!]!) > 1.5 * step[0] ||
          Math.abs(columns.y[columns.from[i]!]! - columns.y[columns.to[i]!]!) > 1.5 * step[1];
        const by = around ? Math.min(70, 0.12 * far) : Math.min(5, 0.06 * far);
        return [a, [(a[0] + b[0]) / 2 - (dy / far) * by, (a[1] + b[1]) / 2 + (dx / far) * by], b];
      };

      const line = (i: number, width: number, stroke: string) => {
        const [a, m, b] = bend(i);
        const g = c.context;
        g.strokeStyle = stroke;
        g.lineWidth = width;
        g.beginPath();
        g.moveTo(...a);
        g.quadraticCurveTo(...m, ...b);
        g.stroke();
      };
      const point = (i: number) => {
        over = i;
        about.textContent = i >= 0 ? told(i) : ' ';
        c.redraw();
      };
      const key = (name: string): boolean => {
        const next = stepped(name, over, d.links.length);
        if (next !== null) point(next);
        else if (name === 'Enter' && over >= 0) choice.link(d.links[over]!);
        return next !== null || name === 'Enter';
      };
      const c: Canvas = canvas(520, 'drawing of the network; arrow keys go from link to link, Enter chooses it', () => {
        const g = c.context;
        const values = measure();
        const order = Array.from(values.keys()).sort((p, q) => values[p]! - values[q]!);
        for (const i of order) {
          const share = most > 0 ? values[i]! / most : 0;
          line(i, share > 0 ? 1 + 2.5 * share : 0.7, share > 0 ? amountColour(share) : colour('--line'));
        }
        const chosen = choice.chosen.link === null ? -1 : d.links.indexOf(choice.chosen.link);
        for (const [i, stroke] of [[over, colour('--text')], [chosen, colour('--mark')]] as [number, string][]) if (i >= 0) line(i, 5, stroke);
        g.fillStyle = colour('--back');
        g.strokeStyle = colour('--quiet');
        g.lineWidth = 1.2;
        const size = d.names.length > 400 ? 2 : 4.5;
        d.names.forEach((_, v) => {
          const [px, py] = place(v);
          g.beginPath();
          if (v < d.hosts) g.rect(px - size, py - size, 2 * size, 2 * size);
          else g.arc(px, py, size + 1, 0, 7);
          g.fill();
          g.stroke();
        });
        if (d.names.length > kMostNames) return;
        g.fillStyle = colour('--quiet');
        g.font = '10px system-ui, sans-serif';
        g.textAlign = 'center';
        d.names.forEach((name, v) => {
          const [px, py] = place(v);
          g.fillText(name, px, v < d.hosts ? py + 16 : py - 9);
        });
      }, key);
      const update = () => {
        most = largest(measure());
        legend.replaceChildren(amountLegend('0', by.value === 'waited' ? `${seconds(most)} waited` : `${percent(most)} used`));
        c.redraw();
      };
      by.addEventListener('change', update);
      const nearest = (e: MouseEvent): number => {
        let best = -1, least = 8;
        for (let i = 0; i < d.links.length; ++i) {
          const [a, m, b] = bend(i);
          for (let t = 0.05; t < 1; t += 0.05) {
            const u = 1 - t;
            const far = Math.hypot(u * u * a[0] + 2 * u * t * m[0] + t * t * b[0] - e.offsetX, u * u * a[1] + 2 * u * t * m[1] + t * t * b[1] - e.offsetY);
            if (far < least) [best, least] = [i, far];
          }
        }
        return best;
      };
      c.root.addEventListener('pointermove', (e) => point(nearest(e)));
      c.root.addEventListener('blur', () => point(-1));
      c.root.addEventListener('click', (e) => {
        const i = nearest(e);
        if (i >= 0) choice.link(d.links[i]!);
      });
      choice.onChange(() => {
        const i = choice.chosen.link === null ? -1 : d.links.indexOf(choice.chosen.link);
        if (i >= 0) about.textContent = told(i);
        c.redraw();
      });
      box.append(el('label', {}, 'colours are ', by), legend, c.root, about,
        el('p', { class: 'note' }, 'Squares are hosts, circles switches; each cable is two links, one each way. A click chooses a link.'));
      Object.assign(c.root, { linkAt: (name: string) => bend(d.links.indexOf(name))[1] }); // for the test of the page
      update();
    });
    return true;
  },
};
