import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, CLINIC, GOOD, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import {
  expectReceipts,
  openFaultyClinic,
  runInDoubt,
  showOf,
  unanswered,
  writeMapping,
} from './left-behind.ts'

/** Rejected for its day, which stands in another form; the mapping that knows that form is corrected. */
const CAT = 'cat,03/02/2026,63,5.3,72.5,kg,fine\n'
/** One record of it is rejected: 400 is no pulse. */
const DAN = 'dan,2026-03-02,400,5.4,73.5,kg,fine\n'
const CORRECTED = CLINIC.replace('format: yyyy-MM-dd', 'format: [yyyy-MM-dd, MM/dd/yyyy]')
const CAT_STORED = ['cat body-weight 72.5', 'cat hba1c 5.3', 'cat heart-rate 63']
const DAN_STORED = ['dan body-weight 73.5', 'dan hba1c 5.4']
const rowsOf = (count: number): string =>
  Array.from({ length: count }, (_, at) => `p${at},2026-03-02,61,,,,\n`).join('')

describe('what was rejected, after the mapping was corrected', () => {
  test.each([
    ['a plain file', (text: string) => Buffer.from(text)],
    ['a compressed one, which is read from its start', (text: string) => gzipSync(text)],
    ['one in UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ])('in %s is mapped, sent, and settled in its own run', async (_, encode) => {
    const clinic = await openClinic({
      job: 'exports: { from: ../inbox, match: "*.csv*", mapping: clinic }\naccounts: { register: never }\n',
    })
    await clinic.deliver('day.csv', encode(`${HEADER}${ANN}${CAT}${BEN}${DAN}`))
    const before = summaryOf(await clinic.run())
    expect(before).toMatchObject({ rows: { read: 4, mapped: 3, rejected: 1 } })
    expect(before.records.biometric).toMatchObject({ made: 9, accepted: 8, rejected: 1 })

    await writeMapping(clinic, CORRECTED)
    const ended = await clinic.workplace.waybill('rerun', before.run, '--only', 'rejected', '--json')
    expect(ended.code).toBe(1)
    const rerun = summaryOf(ended)
    expect(rerun).toMatchObject({ balanced: true, rows: { read: 2, mapped: 2 } })
    expect(rerun.records.biometric).toMatchObject({ made: 6, accepted: 3, unchanged: 2, rejected: 1 })
    expect(await clinic.stored()).toEqual([...GOOD, ...CAT_STORED, ...DAN_STORED].sort())

    const shown = await showOf(clinic, before.run)
    expect(shown).toMatchObject({
      balanced: true,
      rows: { rejected: 1 },
      settled: [{ run: rerun.run, count: 1 }],
    })
    expect((await showOf(clinic, rerun.run)).origin).toEqual({ run: before.run, selection: 'rejected' })
    const text = (await clinic.workplace.waybill('show', before.run)).out
    expect(text).toMatch(new RegExp(`^Settled since: 1 of \\d rejected, 1 by run ${rerun.run}\\.$`, 'm'))
    expect(text).toContain(`waybill rerun ${before.run} --only rejected`)
  })

  test('has the ids that it would have had, and can be traced to its line', async () => {
    const clinic = await openClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${CAT}`)
    const before = summaryOf(await clinic.run())
    await writeMapping(clinic, CORRECTED)
    const rerun = summaryOf(await clinic.workplace.waybill('rerun', before.run, '--json'))
    const ids = (await clinic.store.records('biometric'))
      .filter(({ _account }) => _account === 'cat')
      .map((one) => one.source.meta.persistentRecordId)
    expect(ids).toHaveLength(3)
    for (const id of ids) expect(id).toMatch(new RegExp(`^${before.exports[0]?.sha256.slice(0, 16)}-000002-`))
    const { out } = await clinic.workplace.waybill('trace', ids[0] ?? '')
    expect(out).toContain('Row          2, line 3')
    expect(out).toContain(`Run          ${rerun.run}, chunk 1: accepted`)
  })

  test('of a large file: only those rows are read, however far apart; interrupted, it goes on', async () => {
    const clinic = await openFaultyClinic()
    const bad = (at: number): string => `bad${at},03/02/2026,6${at},,,,\n`
    const text = [0, 1, 2].map((at) => `${rowsOf(3000)}${bad(at)}`).join('') + rowsOf(10)
    await clinic.deliver('day.csv', HEADER + text)
    const before = summaryOf(await clinic.run())
    expect(before.rows).toMatchObject({ read: 9013, rejected: 3 })
    await writeMapping(clinic, CORRECTED)
    clinic.strike(({ method }) => (method === 'POST' ? { do: 'answer', status: 403 } : PASS))
    const stopped = summaryOf(await clinic.workplace.waybill('rerun', before.run, '--json'))
    expect(stopped).toMatchObject({ state: 'interrupted', rows: { read: 3 } })
    const another = await clinic.workplace.waybill('rerun', before.run)
    expect([another.code, another.err]).toEqual([2, expect.stringContaining('error run-unfinished')])
    clinic.strike(() => PASS)
    const resumed = summaryOf(await clinic.run())
    expect(resumed.resumed).toMatchObject({ run: stopped.run, balanced: true })
    expect((await showOf(clinic, stopped.run)).records.biometric).toMatchObject({ made: 3, accepted: 3 })
    expect((await showOf(clinic, before.run)).settled).toEqual([{ run: stopped.run, count: 3 }])
    expect((await clinic.stored()).filter((one) => one.startsWith('bad'))).toEqual([
      'bad0 heart-rate 60',
      'bad1 heart-rate 61',
      'bad2 heart-rate 62',
    ])
  })

  test('again after another rerun: what both left is settled in both', async () => {
    const clinic = await openClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${CAT}`)
    const first = summaryOf(await clinic.run())
    const second = summaryOf(await clinic.workplace.waybill('rerun', first.run, '--json'))
    expect(second).toMatchObject({ rows: { read: 1, rejected: 1 } })
    await writeMapping(clinic, CORRECTED)
    const third = summaryOf(await clinic.workplace.waybill('rerun', second.run, '--json'))
    expect(third.records.biometric).toMatchObject({ accepted: 3 })
    for (const { run } of [first, second])
      expect((await showOf(clinic, run)).settled).toEqual([{ run: third.run, count: 1 }])
    const nothing = await clinic.workplace.waybill('rerun', first.run)
    expect([nothing.code, nothing.err]).toEqual([2, expect.stringContaining('error nothing-left')])
  })

  test('an export that came again with other content is named while something of it is left, no longer', async () => {
    const clinic = await openClinic()
    const anewOf = async (run: string): Promise<unknown> =>
      JSON.parse((await clinic.workplace.waybill('show', run, '--json')).out).anew
    await clinic.deliver('day.csv', `${HEADER}${CAT}${DAN}`)
    const first = summaryOf(await clinic.run())
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const second = summaryOf(await clinic.run())
    const anew = [{ export: 'day.csv', run: second.run }]
    expect(await anewOf(first.run)).toEqual(anew)
    await clinic.deliver('day.csv', `${HEADER}${CAT}${DAN}`)
    await writeMapping(clinic, CORRECTED)
    await clinic.workplace.waybill('rerun', first.run, '--json')
    expect((await showOf(clinic, first.run)).settled).toMatchObject([{ count: 1 }])
    expect(await anewOf(first.run)).toEqual(anew)
    await writeMapping(clinic, CORRECTED.replace('heart-rate: "pulse"', 'heart-rate: "weight"'))
    await clinic.workplace.waybill('rerun', first.run, '--json')
    expect(await anewOf(first.run)).toBeUndefined()
  })

  test.each<[string, string, number]>([
    ['its row as a whole is rejected now', CLINIC.replace('format: yyyy-MM-dd', 'format: MM/dd/yyyy'), 0],
    ['it is rejected again', CLINIC.replace('zone: America/New_York', 'zone: America/Chicago'), 0],
    ['it gets through', CLINIC.replace('heart-rate: "pulse"', 'heart-rate: "weight"'), 1],
  ])('taken up again, a record is settled where it gets through alone: %s', async (_what, mapping, count) => {
    const clinic = await openClinic()
    await clinic.deliver('day.csv', `${HEADER}${DAN}`)
    const before = summaryOf(await clinic.run())
    expect(before.records.biometric).toMatchObject({ accepted: 2, rejected: 1 })
    await writeMapping(clinic, mapping)
    const rerun = summaryOf(await clinic.workplace.waybill('rerun', before.run, '--json'))
    const { settled = [] } = await showOf(clinic, before.run)
    expect(settled).toEqual(count === 0 ? [] : [{ run: rerun.run, count }])
  })

  test('taken up again and in doubt then, a record is not settled', async () => {
    const clinic = await openFaultyClinic({ submit: 'concurrency: 1' })
    await clinic.deliver('day.csv', `${HEADER}${DAN}`)
    const before = summaryOf(await clinic.run())
    expect(before.records.biometric).toMatchObject({ accepted: 2, rejected: 1 })
    await writeMapping(clinic, CLINIC.replace('heart-rate: "pulse"', 'heart-rate: "weight"'))
    clinic.strike(unanswered('reset'))
    const rerun = summaryOf(await clinic.workplace.waybill('rerun', before.run, '--json'))
    expect(rerun.records.biometric).toMatchObject({ inDoubt: 1 })
    expect((await showOf(clinic, before.run)).settled ?? []).toEqual([])
  })

  test('of NDJSON', async () => {
    const clinic = await openClinic()
    const good = { id: 'ann', day: '2026-03-02', pulse: 61 }
    await clinic.deliver(
      'day.ndjson',
      `${JSON.stringify(good)}\n${JSON.stringify({ ...good, id: 'dan', pulse: 400 })}\n`,
    )
    const before = summaryOf(await clinic.run())
    expect(before.records.biometric).toMatchObject({ made: 2, accepted: 1, rejected: 1 })
    const rerun = summaryOf(
      await clinic.workplace.waybill('rerun', before.run, '--only', 'rejected', '--json'),
    )
    expect(rerun).toMatchObject({ rows: { read: 1, mapped: 1 } })
    expect(rerun.records.biometric).toMatchObject({ made: 1, rejected: 1 })
  })
})

describe('what is in doubt', () => {
  test.each(['pass-then-reset', 'reset'] as const)(
    'is looked at first, and sent only where it is not stored (%s)',
    async (what) => {
      const clinic = await openFaultyClinic()
      await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
      const before = await runInDoubt(clinic, what)
      const ended = await clinic.workplace.waybill('rerun', before.run, '--only', 'in-doubt', '--json')
      expect(ended.code).toBe(0)
      expect(summaryOf(ended).records.biometric).toMatchObject(
        what === 'reset' ? { made: 6, accepted: 6 } : { made: 6, unchanged: 6 },
      )
      // Each record counts as accepted in one run alone: in that which has its receipt.
      const { records, settled, balanced } = await showOf(clinic, before.run)
      expect({ records: records.biometric, settled, balanced }).toMatchObject(
        what === 'reset'
          ? {
              records: { accepted: 0, rejected: 6, inDoubt: 0 },
              settled: [{ run: summaryOf(ended).run, count: 6 }],
              balanced: true,
            }
          : { records: { accepted: 6, rejected: 0, inDoubt: 0 }, settled: undefined, balanced: true },
      )
      expect((await clinic.workplace.waybill('runs', '--failed')).out).toBe(
        'No run failed or left anything behind.\n',
      )
      expect(await clinic.stored()).toEqual(GOOD)
      await expectReceipts(clinic, what === 'reset' ? { answer: 6 } : { 'read-back': 6 })
    },
  )

  test.each(['goes on', 'is given up, and done again', 'is given up, and the run reconciled'])(
    'and found, stays found where the rerun ended behind a newer record that hides it, and %s',
    async (how) => {
      const clinic = await openFaultyClinic()
      const { waybill } = clinic.workplace
      await clinic.deliver('day.csv', `${HEADER}${ANN}${ANN.replace('03-02', '03-03')}`)
      const before = await runInDoubt(clinic, 'pass-then-reset')
      expect(before.records.biometric).toMatchObject({ made: 6, inDoubt: 6 })
      clinic.strike(({ method }) => (method === 'POST' ? { do: 'pass-then-answer', status: 403 } : PASS))
      const rerun = ['rerun', before.run, '--only', 'in-doubt', '--json']
      const stopped = summaryOf(await waybill(...rerun))
      expect(stopped).toMatchObject({ state: 'interrupted' })
      clinic.strike(() => PASS)
      if (how !== 'goes on') await waybill('resolve', stopped.run, '--give-up')
      const again = how.endsWith('reconciled') ? ['reconcile', before.run] : rerun
      const ended = how === 'goes on' ? await clinic.run() : await waybill(...again)
      expect(ended.code).toBe(0)
      const { records, balanced } = await showOf(clinic, before.run)
      expect([records.biometric, balanced]).toMatchObject([{ accepted: 3, inDoubt: 0 }, true])
      expect(await clinic.stored()).toHaveLength(6)
      await expectReceipts(clinic, { 'read-back': 6 })
    },
  )

  test('sent again and in doubt again, then found: it counts as accepted in the run that sent it last', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'reset')
    let isSent = false
    clinic.strike(({ method }) => {
      if (method !== 'POST') return isSent ? { do: 'answer', status: 400 } : PASS
      isSent = true
      return { do: 'pass-then-reset' }
    })
    const again = summaryOf(
      await clinic.workplace.waybill('rerun', before.run, '--only', 'in-doubt', '--json'),
    )
    expect(again.records.biometric).toMatchObject({ made: 6, inDoubt: 6 })
    clinic.strike(() => PASS)
    const { code, out } = await clinic.workplace.waybill('reconcile', before.run, '--json')
    expect([code, JSON.parse(out)]).toMatchObject([0, { found: 6, missed: 0, inDoubt: 0 }])
    const shown = await showOf(clinic, before.run)
    expect(shown.records.biometric).toMatchObject({ accepted: 0, rejected: 6, inDoubt: 0 })
    expect(shown).toMatchObject({ balanced: true, settled: [{ run: again.run, count: 6 }] })
    expect((await showOf(clinic, again.run)).records.biometric).toMatchObject({ accepted: 6, inDoubt: 0 })
    await expectReceipts(clinic, { 'read-back': 6 })
  })

  test('is waited for by an export that says again what stood before, and is replaced by it', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    await clinic.run()
    const nights = [`${HEADER}${ANN.replace(',61,', ',75,')}`, `${HEADER}${ANN}${BEN}`] as const
    await clinic.deliver('day.csv', nights[0])
    const second = await runInDoubt(clinic, 'pass-then-reset')
    expect(second.records.biometric).toMatchObject({ made: 3, unchanged: 2, inDoubt: 1 })
    await clinic.deliver('day.csv', nights[1])
    const third = summaryOf(await clinic.run())
    expect(third.records.biometric).toMatchObject({ made: 6, accepted: 3, unchanged: 2, inDoubt: 1 })
    const again = async (run: string) =>
      summaryOf(await clinic.workplace.waybill('rerun', run, '--only', 'in-doubt', '--json')).records
    // Before it is settled nothing is sent: nobody knows yet what is to be replaced.
    expect((await again(third.run)).biometric).toMatchObject({ unchanged: 2, inDoubt: 1 })
    await clinic.deliver('day.csv', nights[0])
    expect((await again(second.run)).biometric).toMatchObject({ unchanged: 3 })
    await clinic.deliver('day.csv', nights[1])
    expect((await again(third.run)).biometric).toMatchObject({ unchanged: 2, accepted: 1 })
    expect(await clinic.stored()).toEqual([...GOOD, 'ann heart-rate 61', 'ann heart-rate 75'].toSorted())
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ made: 6, unchanged: 6 })
    await expectReceipts(clinic, { answer: 7, 'read-back': 1 })
  })

  test('stays so where nobody can tell still, and is not touched by a rerun of rejects', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${CAT}`)
    const before = await runInDoubt(clinic, 'pass-then-reset')
    clinic.strike(({ method }) => (method === 'GET' ? { do: 'answer', status: 400 } : PASS))
    const posts = () => clinic.proxy.seen.filter(({ method }) => method === 'POST').length
    const count = posts()
    const ended = await clinic.workplace.waybill('rerun', before.run, '--only', 'in-doubt', '--json')
    expect(ended.code).toBe(1)
    expect(summaryOf(ended).records.biometric).toMatchObject({ made: 3, inDoubt: 3 })
    expect(posts()).toBe(count)
    expect((await showOf(clinic, before.run)).records.biometric).toMatchObject({ inDoubt: 3 })
    const rejected = summaryOf(
      await clinic.workplace.waybill('rerun', before.run, '--only', 'rejected', '--json'),
    )
    expect(rejected).toMatchObject({ rows: { read: 1, rejected: 1 } })
  })
})
