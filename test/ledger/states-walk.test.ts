/** Random sequences of events: whatever comes in whatever order, what must be final is, and what must happen once happens once. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { advance, type EventOf, type LeftEvent, type StateOf } from '../../src/ledger/states.ts'
import { WaybillError } from '../../src/model/errors.ts'

const moving =
  <Of extends Parameters<typeof advance>[0]>(of: Of) =>
  (state: StateOf<Of>, event: EventOf<Of>): StateOf<Of> =>
    advance(of, state, event)

type RunEvent = EventOf<'run'>

/** The states gone through, the first among them; a move that is refused leaves the state as it was. */
function walk<State extends string, Event extends string>(
  start: State,
  advance: (state: State, event: Event) => State,
  events: readonly Event[],
): { readonly states: readonly State[]; readonly taken: readonly Event[] } {
  const states = [start]
  const taken: Event[] = []
  let state = start
  for (const event of events) {
    try {
      state = advance(state, event)
    } catch (error) {
      if (!(error instanceof WaybillError) || error.code !== 'state-illegal') throw error
      continue
    }
    states.push(state)
    taken.push(event)
  }
  return { states, taken }
}

const sequence = <Event extends string>(...events: readonly Event[]) =>
  fc.array(fc.constantFrom(...events), { maxLength: 40 })

const count = (all: readonly string[], ...wanted: readonly string[]): number =>
  all.filter((one) => wanted.includes(one)).length

describe('any sequence of events', () => {
  it('ends a run once, and nothing happens to it then', () => {
    fc.assert(
      fc.property(sequence<RunEvent>('finish', 'interrupt', 'fail', 'resume'), (events) => {
        const { states, taken } = walk('running', moving('run'), events)
        expect(count(taken, 'finish', 'fail')).toBeLessThanOrEqual(1)
        const end = states.findIndex((state) => state === 'finished' || state === 'failed')
        if (end >= 0) expect(end).toBe(states.length - 1)
        // Only somebody who has taken it up again can interrupt a run a second time.
        expect(taken.join(' ')).not.toMatch(/interrupt (?!resume)/)
      }),
    )
  })

  it('settles a chunk once', () => {
    fc.assert(
      fc.property(sequence('settle' as const), (events) => {
        const { taken } = walk('open', moving('chunk'), events)
        expect(taken).toHaveLength(Math.min(1, events.length))
      }),
    )
  })

  it('closes a batch once, by settlement or split, never before it was sent, and sends nothing of it then', () => {
    fc.assert(
      fc.property(sequence<EventOf<'batch'>>('send', 'settle', 'split'), (events) => {
        const { states, taken } = walk('planned', moving('batch'), events)
        expect(count(taken, 'settle', 'split')).toBeLessThanOrEqual(1)
        const closed = taken.findIndex((event) => event !== 'send')
        if (closed >= 0) {
          expect(closed).toBeGreaterThan(0)
          expect(closed).toBe(taken.length - 1)
          expect(['settled', 'split']).toContain(states.at(-1))
        }
      }),
    )
  })

  it('gets a record through once at most, and never from certainty back into doubt', () => {
    const events = sequence<LeftEvent>('accept', 'resend', 'find', 'miss', 'deliver', 'refuse')
    fc.assert(
      fc.property(fc.constantFrom('in-doubt' as const, 'rejected' as const), events, (start, some) => {
        const { states, taken } = walk(start, moving('record'), some)
        expect(count(taken, 'accept', 'find', 'deliver')).toBeLessThanOrEqual(1)
        const certain = states.findIndex((state) => state !== 'in-doubt')
        if (certain >= 0) expect(states.slice(certain)).not.toContain('in-doubt')
        // What the gateway has is not sent again.
        const there = states.findIndex((state) => state === 'accepted' || state === 'settled')
        if (there >= 0) expect(there).toBe(states.length - 1)
      }),
    )
  })
})
