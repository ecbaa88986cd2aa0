// What a section of the page is, and what sections share: the run that is shown, and the rank, link or job that was chosen.
import type { Page, Run } from './data';

export interface Chosen {
  rank: number | null;
  link: string | null;
  job: number | null; // of Result.jobs
}

export class Choice {
  readonly chosen: Chosen = { rank: null, link: null, job: null };
  private listeners: (() => void)[] = [];

  // Again takes the choice back.
  rank(rank: number): void {
    this.chosen.rank = this.chosen.rank === rank ? null : rank;
    this.tell();
  }
  link(link: string): void {
    this.chosen.link = this.chosen.link === link ? null : link;
    this.tell();
  }
  job(job: number): void {
    this.chosen.job = this.chosen.job === job ? null : job;
    this.tell();
  }
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }
  // Of a run that is shown no more.
  forget(): void {
    this.listeners = [];
    this.chosen.rank = this.chosen.link = this.chosen.job = null;
  }
  private tell(): void {
    for (const l of this.listeners) l();
  }
}

export interface Section {
  id: string;
  title: string;
  // Fills `box` with what it has to say of `run`. False: nothing, the section is left out.
  draw(box: HTMLElement, run: Run, choice: Choice, page: Page): boolean;
}

// A section of a page that shows the object of a verb's --json.
export interface DocumentSection {
  id: string;
  title: string;
  draw(box: HTMLElement, document: unknown, page: Page): boolean;
}
