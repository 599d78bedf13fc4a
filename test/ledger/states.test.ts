import { describe, expect, it } from 'vitest'
import { advance, type EventOf, type StateOf } from '../../src/ledger/states.ts'

const moving =
  <Of extends Parameters<typeof advance>[0]>(of: Of) =>
  (state: StateOf<Of>, event: EventOf<Of>): StateOf<Of> =>
    advance(of, state, event)

/** A row a state, a column an event: the next state, or `-` where the move is illegal. */
const RUN = {
  running: {
    finish: 'finished',
    interrupt: 'interrupted',
    fail: 'failed',
    resume: 'running',
    'give-up': 'failed',
  },
  interrupted: { finish: '-', interrupt: '-', fail: '-', resume: 'running', 'give-up': 'failed' },
  finished: { finish: '-', interrupt: '-', fail: '-', resume: '-', 'give-up': '-' },
  failed: { finish: '-', interrupt: '-', fail: '-', resume: '-', 'give-up': '-' },
} as const
const CHUNK = { open: { settle: 'settled' }, settled: { settle: '-' } } as const
const BATCH = {
  planned: { send: 'sending', settle: '-', split: '-' },
  sending: { send: 'sending', settle: 'settled', split: 'split' },
  settled: { send: '-', settle: '-', split: '-' },
  split: { send: '-', settle: '-', split: '-' },
} as const
const NO = {
  accept: '-',
  resend: '-',
  find: '-',
  miss: '-',
  deliver: '-',
  refuse: '-',
  supersede: '-',
} as const
const LEFT = {
  'in-doubt': {
    accept: 'accepted',
    resend: 'in-doubt',
    find: 'accepted',
    miss: 'rejected',
    deliver: 'settled',
    refuse: 'rejected',
    supersede: 'settled',
  },
  rejected: { ...NO, deliver: 'settled' },
  accepted: NO,
  settled: NO,
} as const

const keys = <T extends object>(table: T) => Object.keys(table) as (keyof T & string)[]

function holds<State extends string, Event extends string>(
  table: Readonly<Record<State, Readonly<Record<Event, string>>>>,
  advance: (state: State, event: Event) => string,
): void {
  for (const state of keys(table)) {
    for (const [event, next] of Object.entries<string>(table[state]) as [Event, string][]) {
      it(`${state}, ${event}: ${next}`, () => {
        if (next !== '-') expect(advance(state, event)).toBe(next)
        else expect(() => advance(state, event)).toThrow(expect.objectContaining({ code: 'state-illegal' }))
      })
    }
  }
}

describe('a run', () => holds(RUN, moving('run')))
describe('a chunk', () => holds(CHUNK, moving('chunk')))
describe('a batch', () => holds(BATCH, moving('batch')))
describe('what was left behind', () => holds(LEFT, moving('record')))
