import { describe, expect, it } from 'vitest'
import { loadChunk } from '../../src/load/load-chunk.ts'
import type { Entry } from '../../src/model/entry.ts'
import { receiptsOf, receiptsOfSent } from '../../src/run/receipts.ts'
import { releaseDoubts } from '../../src/run/settle-doubts.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { keptSlot } from '../ledger/kept-slots.ts'
import { BIOMETRICS, failureOf, idsOf, placed, SPEAKS, startLoading, tally } from './loading.ts'
import { biometric, DAY_MS, EXPORT_ID, entryOf, IDENTITY, type Made, OBSERVED_AT } from './made-up-entries.ts'

/** Loading after an earlier run has left these in doubt, of which the gateway has some. */
async function afterDoubt(
  held: 'hold' | 'look' | 'resend',
  entries: readonly Entry[],
  stored: readonly Entry[],
  faultOf: (request: Passing) => Fault = () => PASS,
) {
  let strikes = faultOf
  const loading = await startLoading({ held, faultOf: (request) => strikes(request) })
  const { exportRow, runLedger } = loading
  strikes = () => PASS
  await loading.load(stored)
  strikes = faultOf
  await runLedger.openChunk(exportRow, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 0, rows: 1 })
  await runLedger.settleChunk({
    exportRow,
    chunk: 1,
    counts: '{}',
    receiptsLength: 0,
    rejectsLength: 0,
    delivered: [],
    held: entries.map(({ rowKey, content, ruleHash: rule }) => ({ rowKey, content, rule, series: null })),
    arrival: 1,
    exceptions: [],
    tallies: {},
    at: 0,
  })
  const before = loading.posts(BIOMETRICS)
  const { outcomes } = await loading.load(entries, false, 2)
  return { loading, outcomes, posts: loading.posts(BIOMETRICS) - before }
}

const people = (count: number): Entry[] =>
  Array.from({ length: count }, (_, at) => entryOf(biometric, { row: at + 1, person: `person-${at}` }))

describe('a row that comes twice, where the process ended with the first sent and no answer', () => {
  const made = (row: number): Entry => entryOf(biometric, { row, key: 'visit', value: '118' })

  it.each([
    ['hold', 'unreadable'],
    ['look', 'unreadable'],
    ['hold', 'hidden'],
    ['look', 'hidden'],
  ] as const)('is not sent again by a run that is to %s, the profile %s', async (held, profile) => {
    const [first, twin] = [made(1), made(2)]
    expect([first.rowKey, first.content]).toEqual([twin.rowKey, twin.content])
    const newer = entryOf(biometric, { row: 3, key: 'next visit', observedAt: OBSERVED_AT + DAY_MS })
    let lost = 0
    const faultOf = ({ method, path }: Passing): Fault => {
      if (method === 'GET' && profile === 'unreadable') return answer(400)
      return path === BIOMETRICS && lost-- > 0 ? { do: 'pass-then-answer', status: 403 } : PASS
    }
    const loading = await startLoading({ held, faultOf })
    await loading.settle(await loading.load([newer]))
    lost = 1
    await failureOf(loading.load([first, twin], false, 2))
    const resumed = await loading.load([first, twin], true, 2)
    expect(tally(resumed.outcomes)).toEqual({ 'in-doubt': 2 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf([newer, first]))
  })
})

const noProfile = ({ method }: Passing): Fault => (method === 'GET' ? answer(400) : PASS)

describe('records in doubt since an earlier run', () => {
  it('are not sent where they are held, whether stored or not', async () => {
    const entries = people(2)
    const { outcomes, posts } = await afterDoubt('hold', entries, entries.slice(0, 1))
    expect([tally(outcomes), posts]).toEqual([{ 'in-doubt': 2 }, 0])
  })

  it.each(['look', 'resend'] as const)(
    'are looked for first (%s): found, they are unchanged; absent, sent',
    async (held) => {
      const entries = people(4)
      const { loading, outcomes, posts } = await afterDoubt(held, entries, entries.slice(0, 2))
      expect(outcomes.map((one) => [one.outcome, 'found' in one])).toEqual([
        ['unchanged', true],
        ['unchanged', true],
        ['accepted', false],
        ['accepted', false],
      ])
      expect(posts).toBe(1)
      expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
    },
  )

  it('are looked for, too, where the same was delivered before and has been replaced since', async () => {
    const loading = await startLoading({ held: 'look' })
    const [entry] = people(1)
    if (entry === undefined) throw new Error('one was made')
    const { exportRow, runLedger } = loading
    const { rowKey, content, ruleHash: rule } = entry
    await runLedger.openChunk(exportRow, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 0, rows: 1 })
    await runLedger.settleChunk({
      ...{ exportRow, chunk: 1, counts: '{}', receiptsLength: 0, rejectsLength: 0, exceptions: [] },
      ...{
        tallies: {},
        at: 0,
        arrival: 1,
        held: [{ rowKey, content, rule, series: null }],
      },
      delivered: [
        {
          rowKey,
          records: [keptSlot(rule, content.replaceAll(/[0-9a-f]/g, '0'), { isLate: true })],
        },
      ],
    })
    const speaks = { ...SPEAKS, arrival: 2 }
    const chunk = {
      exportRow,
      chunk: 2,
      exportId: EXPORT_ID,
      ...speaks,
      resumed: false,
      listed: [],
      shared: [],
      withdrawn: [],
    }
    const { outcomes } = await loadChunk(loading.context, { ...chunk, entries: [entry] })
    expect(tally(outcomes)).toEqual({ accepted: 1 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf([entry]))
  })

  it.each([
    ['nothing was sent since', false],
    ['a run that was given up has sent them, too', true],
  ])('get no second receipt where they were delivered, and %s', async (_how, wasGivenUp) => {
    const loading = await startLoading({ held: 'look' })
    const [entry] = people(1)
    if (entry === undefined) throw new Error('one was made')
    const { context, exportRow, ledger, runLedger } = loading
    await loading.settle(await loading.load([entry]))
    const { rowKey, content, ruleHash, kind, rule, row } = entry
    const { line, byteOffset } = row
    const doubt = { kind, rule, content, outcome: 'in-doubt' as const }
    await runLedger.openChunk(exportRow, { number: 2, firstRow: 2, firstLine: 3, byteOffset: 2, rows: 1 })
    await runLedger.settleChunk({
      ...{ exportRow, chunk: 2, counts: '{}', receiptsLength: 0, rejectsLength: 0, delivered: [] },
      ...{ tallies: {}, at: 0, arrival: 2 },
      held: [{ rowKey, content, rule: ruleHash, series: null }],
      exceptions: [
        {
          ...{ ...doubt, row: 2, line, byteOffset, batchId: null },
          ...{ stage: 'submit', code: 'waits-for-older', field: null, message: '' },
        },
      ],
    })
    const found = new Map([[content, 'find' as const]])
    const placed = { exportId: 'f'.repeat(16), row: 1, rule, content, batchId: 'given-up' }
    const sentByGivenUp = async () => new Map(wasGivenUp ? [[content, placed]] : [])
    const { ruling, sentAs } = await releaseDoubts(
      { ...ledger, left: { ...ledger.left, sentByGivenUp } },
      ...([context.jobId, found, runLedger.lease.runId] as const),
    )
    expect(ruling.decisions).toMatchObject([{ event: 'deliver' }])
    expect([...receiptsOf([{ entry, outcome: 'unchanged', found: true, readBack: true }], sentAs)]).toEqual(
      [],
    )
    expect(receiptsOfSent(sentAs, 'read-back')).toEqual([])
  })

  it('stay so where nobody can tell, after a look; a person’s decision sends them all the same', async () => {
    const looked = await afterDoubt('look', people(2), [], noProfile)
    expect([tally(looked.outcomes), looked.posts]).toEqual([{ 'in-doubt': 2 }, 0])
    const resent = await afterDoubt('resend', people(2), [], noProfile)
    expect([tally(resent.outcomes), resent.posts]).toEqual([{ accepted: 2 }, 1])
  })

  it.each(['look', 'resend'] as const)(
    'stay found (%s) where the process ended behind a newer one of their series, which hides them',
    async (held) => {
      const older = entryOf(biometric, { row: 1 })
      const newer = entryOf(biometric, { row: 2, key: 'visit', observedAt: OBSERVED_AT + DAY_MS })
      let ends = false
      const loading = await startLoading({
        held,
        faultOf: ({ path }) => (ends && path === BIOMETRICS ? { do: 'pass-then-answer', status: 403 } : PASS),
      })
      const { rowKey, content, ruleHash: rule } = older
      const loaded = await loading.load([older])
      const doubt = { rowKey, content, rule, series: IDENTITY.series(older.series) }
      await loading.settle({ ...loaded, learned: { ...loaded.learned, delivered: [] } }, 1, [doubt])
      ends = true
      await failureOf(loading.load([newer, older], false, 2))
      ends = false
      const { outcomes, learned } = await loading.load([newer, older], true, 2)
      expect(outcomes).toMatchObject([
        { outcome: 'accepted', readBack: true },
        { outcome: 'unchanged', found: true, readBack: true },
      ])
      expect(learned.delivered.map((row) => row.rowKey)).toEqual([newer.rowKey, rowKey])
      expect([...learned.asked]).toEqual([content])
      expect(await loading.storedIds('biometric')).toEqual(idsOf([older, newer]))
    },
  )

  it('are sent once where they stand twice', async () => {
    const twins = [1, 2].map((row) => entryOf(biometric, { row, key: 'same', person: 'one' }))
    const { loading, outcomes } = await afterDoubt('resend', twins, [])
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'unchanged'])
    expect(await loading.stored('biometric')).toHaveLength(1)
  })
})

describe('while an older record of a series is asked about', () => {
  const made = (day: number, more: Made = {}) =>
    entryOf(biometric, { row: day + 1, observedAt: OBSERVED_AT + day * DAY_MS, ...more })
  const [older, newer, newest] = [made(0), made(1, { key: 'visit' }), made(2)]
  const other = made(3, { code: '8867-4', rule: 'pulse' })

  /** The first batch is stored and never answered, and profiles cannot be read. */
  const startInDoubt = async (isSettled = true) => {
    const isFirst = (request: Passing): boolean => request.path === BIOMETRICS && request.earlier === 0
    const reads = { fault: answer(404, {}, '<html>not here</html>') as Fault }
    const loading = await startLoading({
      faultOf: (request) => {
        if (request.method === 'GET') return reads.fault
        return isFirst(request) ? { do: 'pass-then-reset' } : PASS
      },
    })
    const loaded = await loading.load([older, newer, other])
    if (isSettled) await loading.settle(loaded)
    return { loading, loaded, reads }
  }

  it('newer ones wait, of this chunk and of the next, and no other does', async () => {
    const { loading, loaded } = await startInDoubt()
    const codes = loaded.outcomes.map((one) => ('reason' in one ? one.reason.code : one.outcome))
    expect(codes).toEqual(['in-doubt', 'waits-for-older', 'in-doubt'])
    expect(await loading.storedIds('biometric')).toEqual(idsOf([older, other]))
    const { outcomes } = await loading.load([newest, made(4, { person: 'another' })], false, 2)
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['in-doubt', 'accepted'])
  })

  it('newer ones wait, too, where the process was killed before their chunk was settled', async () => {
    const { loading, loaded } = await startInDoubt(false)
    const resumed = await loading.load([older, newer, other], true)
    const fates = ({ outcomes }: typeof loaded) =>
      outcomes.map((one) => [one.outcome, 'isAsked' in one && one.isAsked])
    expect(fates(resumed)).toEqual([
      ['in-doubt', true],
      ['in-doubt', true],
      ['in-doubt', true],
    ])
    expect(fates(loaded)).toEqual(fates(resumed))
    expect(await loading.storedIds('biometric')).toEqual(idsOf([older, other]))
  })

  it('they go out with the next run once it is settled, and their wait ends', async () => {
    const { loading } = await startInDoubt()
    const { ledger, runLedger, context } = loading
    const { ruling } = await releaseDoubts(ledger, context.jobId, new Map([[older.content, 'find']]))
    await runLedger.rule(ruling, 0)
    const { outcomes, learned } = await loading.load([newer], false, 2)
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted'])
    expect([...learned.asked]).toEqual([newer.content])
  })

  it('they give way to a newer word of their place', async () => {
    const { loading } = await startInDoubt()
    const corrected = made(1, { key: 'visit', row: 9, value: '99' })
    const { outcomes, learned } = await loading.load([corrected], false, 2)
    expect(outcomes).toMatchObject([{ outcome: 'in-doubt', reason: { code: 'waits-for-older' } }])
    expect([...learned.outdated]).toEqual([newer.content])
  })

  it('they go out with the look that settles it', async () => {
    const { loading, reads } = await startInDoubt()
    reads.fault = PASS
    const context = { ...loading.context, held: 'look' as const }
    const chunk = {
      exportRow: loading.exportRow,
      chunk: 2,
      exportId: EXPORT_ID,
      ...{ ...SPEAKS, withdrawn: [] },
      resumed: false,
    }
    const { outcomes } = await loadChunk(context, {
      ...chunk,
      entries: placed([older, newer, newest]),
      listed: [],
      shared: [],
    })
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['unchanged', 'accepted', 'accepted'])
    expect(await loading.storedIds('biometric')).toEqual(idsOf([older, newer, newest, other]))
  })
})
