import { describe, expect, it } from 'vitest'
import {
  advanceBatch,
  advanceChunk,
  advanceFire,
  advanceLeft,
  advanceNotification,
  advanceRun,
  type BatchEvent,
  type BatchState,
  type ChunkState,
  type FireEvent,
  type FireState,
  type LeftEvent,
  type LeftState,
  type NotificationEvent,
  type NotificationState,
  type RunState,
} from '../../src/ledger/states.ts'
import { noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { codeRows, page, sections, tableRows } from './pages.ts'

type ChunkEvent = Parameters<typeof advanceChunk>[1]

type RunEvent = Parameters<typeof advanceRun>[1]

const documented = sections(page('docs/states.md'), 2)
const rowsOf = (heading: string): string[] =>
  tableRows(documented.get(heading) ?? '').map((row) => row.map((cell) => cell.replaceAll('`', '')).join(' '))

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
    expect(rowsOf('Run').sort()).toEqual(moves(states, events, advanceRun).sort())
  })

  it('of a chunk', () => {
    const states: Record<ChunkState, true> = { open: true, settled: true }
    const events: Record<ChunkEvent, true> = { settle: true }
    expect(rowsOf('Chunk').sort()).toEqual(moves(states, events, advanceChunk).sort())
  })

  it('of a batch', () => {
    const states: Record<BatchState, true> = { planned: true, sending: true, settled: true, split: true }
    const events: Record<BatchEvent, true> = { send: true, settle: true, split: true }
    expect(rowsOf('Batch').sort()).toEqual(moves(states, events, advanceBatch).sort())
  })

  it('of what was left behind', () => {
    const states: Record<LeftState, true> = {
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
    expect(rowsOf('What was left behind').sort()).toEqual(moves(states, events, advanceLeft).sort())
  })

  it('of a fire', () => {
    const states: Record<FireState, true> = {
      due: true,
      missed: true,
      running: true,
      interrupted: true,
      retrying: true,
      ended: true,
      skipped: true,
    }
    const events: Record<FireEvent, true> = {
      begin: true,
      miss: true,
      skip: true,
      end: true,
      interrupt: true,
      retry: true,
      resume: true,
    }
    expect(rowsOf('Fire').sort()).toEqual(moves(states, events, advanceFire).sort())
  })

  it('of a notification', () => {
    const states: Record<NotificationState, true> = { pending: true, delivered: true, 'given-up': true }
    const events: Record<NotificationEvent, true> = {
      deliver: true,
      fail: true,
      'give-up': true,
      revive: true,
    }
    expect(rowsOf('Notification').sort()).toEqual(moves(states, events, advanceNotification).sort())
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
