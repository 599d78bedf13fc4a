import { describe, expect, it } from 'vitest'
import { advance, type EventOf, type StateOf, statesBefore } from '../../src/ledger/states.ts'

const ILLEGAL = expect.objectContaining({ code: 'state-illegal' })

type Kind = Parameters<typeof advance>[0]

/** Tries every event on a state that nothing may leave. */
const final =
  <Of extends Kind>(of: Of, events: Readonly<Record<EventOf<Of>, true>>) =>
  (...states: readonly StateOf<Of>[]): void => {
    for (const state of states)
      for (const event of Object.keys(events) as EventOf<Of>[])
        expect(() => advance(of, state, event)).toThrow(ILLEGAL)
  }

/** What was done is never undone. docs/states.md has the moves (`test/docs/states.test.ts`). */
describe('nothing moves', () => {
  it('a run that has ended', () => {
    const events = { finish: true, interrupt: true, fail: true, resume: true, 'give-up': true } as const
    final('run', events)('finished', 'failed')
  })

  it('a chunk, or a batch, that is settled', () => {
    final('chunk', { settle: true })('settled')
    final('batch', { send: true, settle: true, split: true })('settled', 'split')
  })

  it('a record that is delivered', () => {
    const decided = { accept: true, resend: true, find: true, miss: true } as const
    final('record', { ...decided, deliver: true, refuse: true, supersede: true })('accepted', 'settled')
  })

  it('a fire that has ended', () => {
    const ends = { end: true, interrupt: true, retry: true, miss: true, skip: true } as const
    final('fire', { ...ends, begin: true, resume: true })('ended', 'skipped')
  })

  it('a notice that is delivered', () => {
    final('notification', { deliver: true, fail: true, 'give-up': true, revive: true })('delivered')
  })
})

it('an answer settles a batch that was sent, and none that was only planned', () => {
  expect(statesBefore('batch', 'settle')).toEqual(['sending'])
  expect(statesBefore('batch', 'send')).toEqual(['planned', 'sending'])
  expect(() => advance('batch', 'planned', 'settle')).toThrow(ILLEGAL)
})

it('a reject is settled by a later delivery alone, and no decision counts it as accepted', () => {
  expect(advance('record', 'rejected', 'deliver')).toBe('settled')
  expect(() => advance('record', 'rejected', 'accept')).toThrow(ILLEGAL)
})
