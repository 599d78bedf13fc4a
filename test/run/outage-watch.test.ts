import { expect, test } from 'vitest'
import { type OutageProgress, readOutage, watchOutages } from '../../src/run/events.ts'

const START = Date.parse('2026-03-02T02:17:05Z')
const AWAY = {
  ...{
    since: START,
    givesUpAt: START + 1_800_000,
    isOver: false,
    failures: 3,
    isNotable: true,
    ofBatch: false,
  },
  ...{ class: 'not-sent' as const, what: 'create biometrics: POST /x failed: ECONNREFUSED, at https://g' },
}

function watched(write: () => Promise<void> = async () => undefined) {
  const notes: (string | null)[] = []
  const told: OutageProgress[] = []
  const noteOutage = (note: string | null): Promise<void> => {
    notes.push(note)
    return write()
  }
  const watch = watchOutages({ noteOutage }, (outage) => told.push(outage))
  return { watch, notes, told }
}

test('the ledger is written to when it begins and ends, and when a chunk begins meanwhile', () => {
  const { watch, notes, told } = watched()
  watch.inHand(2_500)
  watch.inHand(2_400)
  watch.inHand(-2_500)
  expect(notes).toEqual([])
  watch.changed(AWAY)
  watch.inHand(100)
  watch.changed({ ...AWAY, isOver: true })
  watch.inHand(2_500)
  expect(notes.map((note) => readOutage(note))).toEqual([
    {
      since: '2026-03-02T02:17:05.000Z',
      givesUpAt: '2026-03-02T02:47:05.000Z',
      ...{ class: 'not-sent', what: AWAY.what, pending: 2_400 },
    },
    expect.objectContaining({ pending: 2_500 }),
    undefined,
  ])
  expect(told).toMatchObject([
    { isOver: false, pending: 2_400 },
    { isOver: true, pending: 2_500 },
  ])
})

test('a status is kept', () => {
  const { watch, notes } = watched()
  watch.changed({ ...AWAY, class: 'not-taken', status: 503 })
  expect(readOutage(notes[0] ?? null)).toMatchObject({ class: 'not-taken', status: 503 })
})

test('a ledger that cannot be written does not end the run by this', async () => {
  const { watch, told } = watched(() => Promise.reject(new Error('the disk is full')))
  watch.changed(AWAY)
  await Promise.resolve()
  expect(told).toHaveLength(1)
})

test('an end that could not be written down is, when the run goes on with a chunk; once', async () => {
  let full = false
  const { watch, notes } = watched(async () => {
    if (full) throw new Error('the disk is full')
  })
  watch.changed(AWAY)
  full = true
  watch.changed({ ...AWAY, isOver: true })
  await new Promise(setImmediate)
  full = false
  watch.inHand(-2_500)
  await new Promise(setImmediate)
  watch.inHand(2_500)
  expect(notes.map((note) => note === null)).toEqual([false, true, true])
})

test.each([[null], ['{}'], ['{"since":"later"}']])('%s tells of no outage', (noted) => {
  expect(readOutage(noted)).toBeUndefined()
})
