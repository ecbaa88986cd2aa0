// The object that the page shows: "weft.report/1". Keys of rows and results are those of `compare --json` and
// `replay --json`; docs/report.md lists the others.

import type { DrawingData } from './sections/network';
import type { PanelData } from './sections/panels';
import type { TimelineData } from './sections/timeline';
import type { TrafficData } from './sections/traffic';
import type { WaitStates } from './sections/waits';
import type { WhatIf } from './sections/whatif';

export interface Row {
  run: number; // index into Page.runs
  trace: string;
  platform: string;
  label?: string;
  map: string;
  routing: string;
  model: string;
  makespan_s: number;
  slowdown: number | null;
  hosts: number;
  switches: number;
  cables: number;
  links_per_host: number;
  mean_hops: number;
  worst_link: string | null;
  worst_link_utilization: number;
  most_waited_link: string | null;
  most_waited_s: number;
  why: string;
  changes?: string[];
  error?: string;
}

// A slowdown is null, too, where the fastest takes no time and this run some; of an error its first word tells.
export const isDeadlock = (r: Row) => r.error?.startsWith('deadlock') ?? false;

export interface RankTimes {
  rank: number;
  finish_s: number;
  compute_s: number;
  send_s: number;
  recv_s: number;
  wait_s: number;
  device_s?: number; // its accelerator worked
  collective_s: number;
  causes: Record<string, number>;
}

export interface LinkUse {
  name: string;
  bytes: number;
  busy_s: number;
  utilization: number;
  peak_flows: number;
  waited_s: number;
}

export interface CriticalPath {
  parts: Record<string, number>;
  messages: number;
  bytes: number;
  by_region: { name: string | null; own_s: number; messages_s: number }[];
  by_link: { name: string; contention_s: number; messages: number }[];
  by_rank: { rank: number; own_s: number }[];
  by_kernel?: { name: string; compute_s: number }[];
  by_messages?: { src: number; dst: number; contention_s: number }[]; // whose were in the way
  copies: number;
  copied_bytes: number;
  segments_own: number;
}

export interface Sensitivity {
  dT_dL: number;
  dT_dL_link: number;
  dT_dG: number;
  dT_dcompute_s: number;
  dT_dbandwidth_s: number;
}

export interface Efficiency {
  parallel: number;
  load_balance: number;
  communication: number;
  serialisation: number;
  transfer: number;
  ideal_network_s: number;
  transfer_split?: { without: string; efficiency: number; makespan_s: number }[];
}

// One of several jobs that run beside each other: its ranks are those from first_rank.
export interface Job {
  trace: string;
  map: string;
  first_rank: number;
  ranks: number;
  hosts: number;
  makespan_s: number;
  alone_s: number;
  slowdown: number;
}

export interface Result {
  trace: { name: string; ranks: number; ops: number; messages: number; bytes: number };
  platform: { name: string; label?: string; hosts: number; links: number; routing: string };
  changes: string[];
  model: Record<string, unknown> & { name: string; map: string; seed: number; mpi?: { assumed: string[] } };
  makespan_s: number;
  fingerprint: string;
  network_messages: number;
  network_bytes: number;
  error?: { kind: string; message: string };
  ranks?: RankTimes[];
  regions: { name: string; count: number; total_s: number }[];
  links: LinkUse[];
  critical_path?: CriticalPath;
  sensitivity?: Sensitivity & Partial<WhatIf>;
  efficiency?: Efficiency;
  wait_states?: WaitStates;
  jobs?: Job[];
  shared_links?: { name: string; utilization: number; bytes: number; by_job: number[] }[] | null;
  warnings: string[];
}

export interface Run {
  name: string;
  result: Result;
  timeline?: TimelineData;
  traffic?: TrafficData;
  drawing?: DrawingData;
  panels?: PanelData;
}

export interface Page {
  schema: string;
  verb: string;
  command: string;
  version: string;
  answer: string[];
  rows: Row[];
  runs: Run[];
  warnings: string[];
  document?: unknown; // of other verbs: the object of their --json
}

export function readPage(): Page | null {
  const data: unknown = JSON.parse(document.getElementById('data')!.textContent!);
  return typeof data === 'object' ? (data as Page) : null;
}
