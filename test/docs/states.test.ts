import { describe, expect, it } from 'vitest'
import {
  advance,
  type EventOf,
  type LeftEvent,
  type RunState,
  type StateOf,
} from '../../src/ledger/states.ts'
import { noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { codeRows, page, sections, tableRows } from './pages.ts'

const moving =
  <Of extends Parameters<typeof advance>[0]>(of: Of) =>
  (state: StateOf<Of>, event: EventOf<Of>): StateOf<Of> =>
    advance(of, state, event)

type ChunkEvent = EventOf<'chunk'>

type RunEvent = EventOf<'run'>

const documented = sections(page('docs/states.md'), 2)
const rowsOf = (heading: string): string[] =>
  tableRows(documented.get(heading) ?? '').flatMap(([state = '', moves = '']) =>
    moves.split('; ').map((move) => `${state} ${move.replace(' →', '')}`.replaceAll('`', '')),
  )

/** All moves that the code allows: `state event next`. */
function moves<State extends string, Event extends string>(
  states: Readonly<Record<State, true>>,
  events: Readonly<Record<Event, true>>,
  advance: (state: State, event: Event) => State,
): string[] {
  const found: string[] = []
  for (const state of Object.keys(states) as State[]) {
    for (const event of Object.keys(events) as Event[]) {
      try {
        found.push(`${state} ${event} ${advance(state, event)}`)
      } catch (error) {
        expect(error).toBeInstanceOf(WaybillError)
      }
    }
  }
  return found
}

describe('docs/states.md has the legal moves, and no other', () => {
  it('of a run', () => {
    const states: Record<RunState, true> = { running: true, finished: true, interrupted: true, failed: true }
    const events: Record<RunEvent, true> = {
      finish: true,
      interrupt: true,
      fail: true,
      resume: true,
      'give-up': true,
    }
    expect(rowsOf('Run').sort()).toEqual(moves(states, events, moving('run')).sort())
  })

  it('of a chunk', () => {
    const states: Record<StateOf<'chunk'>, true> = { open: true, settled: true }
    const events: Record<ChunkEvent, true> = { settle: true }
    expect(rowsOf('Chunk').sort()).toEqual(moves(states, events, moving('chunk')).sort())
  })

  it('of a batch', () => {
    const states: Record<StateOf<'batch'>, true> = {
      planned: true,
      sending: true,
      settled: true,
      split: true,
    }
    const events: Record<EventOf<'batch'>, true> = { send: true, settle: true, split: true }
    expect(rowsOf('Batch').sort()).toEqual(moves(states, events, moving('batch')).sort())
  })

  it('of what was left behind', () => {
    const states: Record<StateOf<'record'>, true> = {
      'in-doubt': true,
      rejected: true,
      accepted: true,
      settled: true,
    }
    const events: Record<LeftEvent, true> = {
      accept: true,
      resend: true,
      find: true,
      miss: true,
      deliver: true,
      refuse: true,
      supersede: true,
    }
    expect(rowsOf('What was left behind').sort()).toEqual(moves(states, events, moving('record')).sort())
  })

  it('of a fire', () => {
    const states: Record<StateOf<'fire'>, true> = {
      due: true,
      missed: true,
      running: true,
      interrupted: true,
      retrying: true,
      ended: true,
      skipped: true,
    }
    const events: Record<EventOf<'fire'>, true> = {
      begin: true,
      miss: true,
      skip: true,
      end: true,
      interrupt: true,
      retry: true,
      resume: true,
    }
    expect(rowsOf('Fire').sort()).toEqual(moves(states, events, moving('fire')).sort())
  })

  it('of a notification', () => {
    const states: Record<StateOf<'notification'>, true> = { pending: true, delivered: true, 'given-up': true }
    const events: Record<EventOf<'notification'>, true> = {
      deliver: true,
      fail: true,
      'give-up': true,
      revive: true,
    }
    expect(rowsOf('Notification').sort()).toEqual(moves(states, events, moving('notification')).sort())
  })
})

describe('docs/states.md has the outcomes that are counted', () => {
  const { rows, records } = noCounts()

  it('of a row', () => {
    const counted = Object.keys(rows).filter((name) => name !== 'read' && name !== 'corrected')
    expect(codeRows(documented.get('Outcome of a row') ?? '').sort()).toEqual(counted.sort())
  })

  it('of a record', () => {
    const counted = Object.keys(records.biometric)
      .filter((name) => name !== 'made')
      .map((name) => (name === 'inDoubt' ? 'in-doubt' : name))
    expect(codeRows(documented.get('Outcome of a record') ?? '').sort()).toEqual(counted.sort())
  })
})
