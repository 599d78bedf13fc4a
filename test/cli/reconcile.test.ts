import { rm } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, GOOD, HEADER } from './clinic.ts'
import { Summary, summaryOf } from './command-line.ts'
import { expectReceipts, type FaultyClinic, openFaultyClinic, runInDoubt, showOf } from './left-behind.ts'

const counts = z.object({ equal: z.int(), differs: z.int(), hidden: z.int(), missing: z.int() })
const Reconciled = z.object({
  found: z.int(),
  missed: z.int(),
  batches: z.int(),
  reads: z.int(),
  inDoubt: z.int(),
  verified: z
    .object({
      seed: z.string(),
      records: z.object({ biometric: counts }),
      fields: z.record(z.string(), z.int()),
      listed: z.array(z.looseObject({ transactionId: z.string(), verdict: z.string() })),
    })
    .optional(),
  summary: Summary,
})

async function reconcile(clinic: FaultyClinic, run: string, ...args: string[]) {
  const { code, out, err } = await clinic.workplace.waybill('reconcile', run, '--json', ...args)
  return { code, err, out, ...(err.includes('\nerror ') ? {} : Reconciled.parse(JSON.parse(out))) }
}

const posts = ({ proxy }: FaultyClinic): number => proxy.seen.filter(({ method }) => method !== 'GET').length

describe('what a run left in doubt', () => {
  test('is accepted where the profile shows it; one read a person, and nothing is sent', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'pass-then-reset')
    const sent = posts(clinic)
    const after = await reconcile(clinic, before.run)
    expect(after).toMatchObject({ code: 0, found: 6, missed: 0, inDoubt: 0, reads: 2 })
    expect(after.summary).toMatchObject({ balanced: true })
    expect(after.summary?.records.biometric).toMatchObject({ made: 6, accepted: 6, inDoubt: 0 })
    expect(posts(clinic)).toBe(sent)
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ unchanged: 6 })
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { 'read-back': 6 })
  })

  test('is looked for under the id under which it went out, where two rows say the same', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${ANN}`)
    const before = await runInDoubt(clinic, 'pass-then-reset')
    const after = await reconcile(clinic, before.run)
    expect(after).toMatchObject({ code: 0, found: 6, missed: 0, inDoubt: 0 })
    await expectReceipts(clinic, { 'read-back': 3 })
  })

  test('is rejected and free where the profile lacks it, so that a rerun sends it', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'reset')
    const after = await reconcile(clinic, before.run)
    expect(after).toMatchObject({ code: 0, found: 0, missed: 6, inDoubt: 0 })
    expect(after.summary?.records.biometric).toMatchObject({ made: 6, rejected: 6, inDoubt: 0 })
    expect(await clinic.stored()).toEqual([])
    const rerun = summaryOf(
      await clinic.workplace.waybill('rerun', before.run, '--only', 'rejected', '--json'),
    )
    expect(rerun.records.biometric).toMatchObject({ made: 6, accepted: 6 })
    expect((await showOf(clinic, before.run)).settled).toEqual([{ run: rerun.run, count: 6 }])
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { answer: 6 })
  })

  test('stays in doubt where nobody can tell: exit 1', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const before = await runInDoubt(clinic, 'pass-then-reset')
    clinic.strike(({ method }) => (method === 'GET' ? { do: 'answer', status: 400 } : PASS))
    expect(await reconcile(clinic, before.run)).toMatchObject({ code: 1, found: 0, missed: 0, inDoubt: 3 })
  })

  test('in the batch of an interrupted run: what is stored is settled, and the run goes on without sending it', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    let arrived = (): void => {}
    const underWay = new Promise<void>((resolve) => {
      arrived = resolve
    })
    clinic.strike(({ method }) => {
      if (method === 'POST') arrived()
      return method === 'POST' ? { do: 'pass-then-hang' } : PASS
    })
    const child = clinic.workplace.start('run', 'clinic')
    await underWay
    const [held] = z
      .object({ runs: z.array(z.object({ run: z.string() })) })
      .parse(JSON.parse((await clinic.workplace.waybill('runs', '--json')).out)).runs
    const run = held?.run ?? ''
    expect((await reconcile(clinic, run)).code).toBe(5)
    const gone = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await gone
    clinic.strike(() => PASS)
    const sent = posts(clinic)
    expect(await reconcile(clinic, run)).toMatchObject({ code: 0, batches: 1, reads: 2 })
    const after = summaryOf(await clinic.run())
    expect(after).toMatchObject({ run, state: 'finished' })
    expect(after.records.biometric).toMatchObject({ made: 6, accepted: 6 })
    expect(posts(clinic)).toBe(sent)
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { 'read-back': 6 })
  })
})

describe('what a run delivered', () => {
  test('is compared with the profiles: equal, in every field', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const { run } = summaryOf(await clinic.run())
    const after = await reconcile(clinic, run, '--verify')
    expect(after).toMatchObject({ code: 0, reads: 2 })
    expect(after.verified?.records.biometric).toEqual({ equal: 6, differs: 0, hidden: 0, missing: 0 })
  })

  test('differs, is hidden by a newer one, or is missing: said by field and id, never by value', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const { run } = summaryOf(await clinic.run())
    await clinic.deliver('newer.csv', `${HEADER}ann,2026-03-09,77,,,,\n`)
    await clinic.run()
    clinic.strike(({ method }) =>
      method === 'GET'
        ? {
            do: 'pass-then-garble',
            // Ann's weight is another, Ben's HbA1c another unit and day; Ben's weight is gone.
            garble: (text) => {
              const envelope = z.looseObject({ data: z.array(z.looseObject({})) }).parse(JSON.parse(text))
              const data = envelope.data.flatMap((one) => {
                if (one['value'] === 71.5) return []
                if (one['value'] === 70.5) return [{ ...one, value: 99.25 }]
                if (one['value'] === 5.2)
                  return [{ ...one, unit: 'mmol/mol', observationDate: '2026-02-02T05:00:00.000Z' }]
                return [one]
              })
              return JSON.stringify({ ...envelope, data })
            },
          }
        : PASS,
    )
    const after = await reconcile(clinic, run, '--verify')
    expect(after.code).toBe(1)
    expect(after.verified).toMatchObject({
      records: { biometric: { equal: 2, differs: 2, hidden: 1, missing: 1 } },
      fields: { value: 1, unit: 1, date: 1 },
    })
    expect(after.verified?.listed.map(({ verdict }) => verdict).sort()).toEqual([
      'differs',
      'differs',
      'missing',
    ])
    const { summary: _summary, ...said } = z.looseObject({}).parse(JSON.parse(after.out))
    expect(JSON.stringify(said)).not.toMatch(/99\.25|70\.5|71\.5|mmol/)
  })

  test('by a sample: so many people, or a share; the same seed, the same people', async () => {
    const clinic = await openFaultyClinic()
    const people = Array.from({ length: 200 }, (_, at) => `p${at},2026-03-02,61,5.1,,,\n`).join('')
    await clinic.deliver('day.csv', `${HEADER}${people}`)
    const { run } = summaryOf(await clinic.run())
    const five = await reconcile(clinic, run, '--verify', '--sample', '5')
    expect(five).toMatchObject({ code: 0, reads: 5, verified: { seed: run } })
    expect(five.verified?.records.biometric).toMatchObject({ equal: 10 })
    const share = await reconcile(clinic, run, '--verify', '--sample', '25%', '--seed', 'one')
    expect(share.reads).toBeGreaterThan(25)
    expect(share.reads).toBeLessThan(75)
    expect((await reconcile(clinic, run, '--verify', '--sample', '25%', '--seed', 'one')).reads).toBe(
      share.reads,
    )
    // 0.57 times 100 is no 57 to a computer.
    const odd = await clinic.workplace.waybill('reconcile', run, '--verify', '--sample', '57%')
    expect(odd.out).toContain('Verified: 57 % of the people, seed ')
    const wrong = await clinic.workplace.waybill('reconcile', run, '--sample', '5')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('error usage-wrong')])
  })

  test('of a rerun, too; where the file is gone it says so', async () => {
    const clinic = await openFaultyClinic()
    const path = await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'reset')
    const rerun = summaryOf(await clinic.workplace.waybill('rerun', before.run, '--json'))
    const after = await reconcile(clinic, rerun.run, '--verify')
    expect(after.verified?.records.biometric).toMatchObject({ equal: 6 })
    await rm(path)
    const gone = await reconcile(clinic, rerun.run, '--verify')
    expect([gone.code, gone.err]).toEqual([2, expect.stringContaining('error export-gone')])
  })
})
