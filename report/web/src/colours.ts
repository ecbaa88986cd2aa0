// Colours: Okabe and Ito's eight for kinds, which people with any colour vision tell apart, and cividis for amounts.

export const kKinds = {
  compute: '#009E73',
  send: '#E69F00',
  receive: '#56B4E9',
  wait: '#CC79A7',
  collective: '#0072B2',
  copy: '#F0E442',
  path: '#D55E00',
  other: '#999999',
} as const;

// By job, in turns; its number is always beside it.
const kJobs = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#F0E442', '#999999'];
export function jobColour(job: number): string {
  return kJobs[job % kJobs.length]!;
}

// By part of the critical path and cause of time in MPI.
export const kParts: Record<string, { text: string; colour: string }> = {
  compute: { text: 'computation', colour: '#009E73' },
  send_overhead: { text: 'processor time of sends', colour: '#E69F00' },
  recv_overhead: { text: 'processor time of receives', colour: '#F0C75E' },
  polls: { text: 'processor time of polls and tests', colour: '#B58900' },
  handshake: { text: 'handshakes of rendezvous', colour: '#CC79A7' },
  latency: { text: 'latency', colour: '#56B4E9' },
  transfer: { text: "data at the narrowest link's rate", colour: '#0072B2' },
  contention: { text: 'contention: waiting for a share', colour: '#D55E00' },
  in_order: { text: 'order: a message sent before is not there', colour: '#7A5195' },
  late_sender: { text: 'late sender: its send not called yet', colour: '#7A5195' },
  late_receiver: { text: 'late receiver: its receive not called yet', colour: '#A0A0A0' },
  never: { text: 'what never came', colour: '#444444' },
  other: { text: 'other', colour: '#999999' },
};

export function partOf(name: string): { text: string; colour: string } {
  return kParts[name.replace(/_s$/, '')] ?? { text: name, colour: kKinds.other };
}
