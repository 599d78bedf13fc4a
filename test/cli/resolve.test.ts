import { rm, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, GOOD, HEADER, JOB } from './clinic.ts'
import { Summary, summaryOf } from './command-line.ts'
import { expectReceipts, openFaultyClinic, runInDoubt, showOf } from './left-behind.ts'
import { readRejects } from './run-outputs.ts'

const Resolved = z.object({
  decision: z.enum(['accept', 'resend']),
  records: z.int(),
  summary: Summary,
  resent: Summary.optional(),
})
const resolvedOf = ({ out, err }: { out: string; err: string }) => {
  expect(err).not.toContain('error')
  return Resolved.parse(JSON.parse(out))
}

describe('records in doubt that are accepted', () => {
  test('count as delivered, in the run’s balance too; later runs do not send them', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'pass-then-reset')
    expect(before.records.biometric).toMatchObject({ made: 6, accepted: 0, inDoubt: 6 })
    const heldBack = summaryOf(await clinic.run())
    expect(heldBack.records.biometric).toMatchObject({ made: 6, inDoubt: 6 })

    const ended = await clinic.workplace.waybill('resolve', before.run, '--accept', '--json')
    expect(ended.code).toBe(0)
    const { records, summary } = resolvedOf(ended)
    expect(records).toBe(6)
    expect(summary.balanced).toBe(true)
    expect(summary.records.biometric).toMatchObject({ made: 6, accepted: 6, inDoubt: 0 })
    expect((await showOf(clinic, before.run)).reasons).toEqual([])
    // The run that only held them back did not send them.
    const held = await showOf(clinic, heldBack.run)
    expect(held).toMatchObject({ balanced: true })
    expect(held.records.biometric).toMatchObject({ made: 6, unchanged: 6, inDoubt: 0, accepted: 0 })

    const later = summaryOf(await clinic.run())
    expect(later.records.biometric).toMatchObject({ made: 6, unchanged: 6 })
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { decision: 6 })
  })

  test('are those that may be there: a record that only waited for an older one was never sent, and is sent next', async () => {
    const clinic = await openFaultyClinic({ job: JOB, submit: 'concurrency: 1, batch: { records: 1 }' })
    const later = ANN.replace('03-02,61', '04-02,66')
    await clinic.deliver('day.csv', `${HEADER}${BEN}${ANN}${later}`)
    let posts = 0
    clinic.strike(({ method }) => {
      if (method === 'POST') return ++posts === 4 ? { do: 'pass-then-reset' } : PASS
      return answer(400)
    })
    const { run, records } = summaryOf(await clinic.run())
    expect(records.biometric).toMatchObject({ made: 9, accepted: 7, inDoubt: 2 })
    clinic.strike(() => PASS)
    const waiting = summaryOf(await clinic.run())
    expect(waiting.records.biometric).toMatchObject({ unchanged: 7, inDoubt: 2 })
    await clinic.workplace.waybill('resolve', run, '--accept')
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ unchanged: 8, accepted: 1 })
    expect(await clinic.stored()).toContain('ann heart-rate 66')
    expect((await clinic.stored()).filter((record) => record === 'ann heart-rate 61')).toHaveLength(1)
  })

  test('free the records that waited for them: the next run sends those, and no run needs anybody', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const doubtful = await runInDoubt(clinic, 'pass-then-reset')
    await clinic.deliver('day.csv', `${HEADER}${ANN}${ANN.replace('03-02,61', '04-02,66')}`)
    const waiting = summaryOf(await clinic.run())
    expect(waiting.records.biometric).toMatchObject({ made: 6, accepted: 0, inDoubt: 6 })
    await clinic.workplace.waybill('resolve', doubtful.run, '--accept')
    const next = summaryOf(await clinic.run())
    expect(next.records.biometric).toMatchObject({ made: 6, accepted: 3, unchanged: 3 })
    expect((await showOf(clinic, waiting.run)).records.biometric).toMatchObject({ inDoubt: 0 })
    expect((await clinic.workplace.waybill('needs')).out).toBe('Nothing needs somebody.\n')
  })

  test('and turn out not to be stored need somebody, though their run was acknowledged before', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const { run } = await runInDoubt(clinic, 'reset')
    await clinic.workplace.waybill('acknowledge', run)
    await clinic.workplace.waybill('reconcile', run)
    const [need] = JSON.parse((await clinic.workplace.waybill('needs', '--json')).out).needs
    expect(need).toMatchObject({ cause: 'left-rejected', records: 3, runs: [run] })
    expect((await clinic.workplace.waybill('show', run)).out).toContain(
      `waybill rerun ${run} --only rejected`,
    )
    await clinic.workplace.waybill('rerun', run, '--only', 'rejected')
    expect((await clinic.workplace.waybill('needs')).out).toBe('Nothing needs somebody.\n')
    expect(await clinic.stored()).toHaveLength(3)
  })

  test('one by one: the others stay in doubt; trace tells what was decided', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'pass-then-reset')
    const ids = (await clinic.store.records('biometric')).map((one) => one.source.meta.persistentRecordId)
    const [first = '', second = ''] = ids
    const ended = await clinic.workplace.waybill(
      'resolve',
      before.run,
      '--accept',
      '--json',
      '--by',
      'Night desk',
      '--note',
      'the vendor sees them',
      '--transaction',
      first,
    )
    expect(resolvedOf(ended).records).toBe(1)
    expect((await showOf(clinic, before.run)).records.biometric).toMatchObject({ accepted: 1, inDoubt: 5 })

    const traced = await clinic.workplace.waybill('trace', first)
    expect(traced.out).toMatch(/: accepted\n/)
    expect(traced.out).toMatch(
      /Decided {4}\d{4}-\d\d-\d\dT[\d:.]+Z: accept, by Night desk: the vendor sees them\n/,
    )
    const [decided] = JSON.parse((await clinic.workplace.waybill('trace', first, '--json')).out).runs[0]
      .decisions
    expect(decided).toMatchObject({ event: 'accept', by: 'Night desk', note: 'the vendor sees them' })
    const { out } = await clinic.workplace.waybill('show', before.run)
    expect(out).toMatch(/^Decided at \S+Z by Night desk: accept\. the vendor sees them$/m)
    const json = JSON.parse((await clinic.workplace.waybill('show', before.run, '--json')).out)
    expect(json.decided).toEqual([
      { decision: 'accept', by: 'Night desk', note: 'the vendor sees them', at: expect.any(String) },
    ])
    expect((await clinic.workplace.waybill('trace', second)).out).toMatch(/: in-doubt\n/)

    const again = await clinic.workplace.waybill(
      'resolve',
      before.run,
      '--accept',
      '--transaction',
      first,
      second,
    )
    expect(again.code).toBe(2)
    expect(again.err).toContain('error transaction-not-found')
    expect((await showOf(clinic, before.run)).records.biometric).toMatchObject({ accepted: 1, inDoubt: 5 })
  })
})

describe('records in doubt that are sent again', () => {
  test('what a last look finds stored is accepted, and nothing is doubled', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'pass-then-reset')
    const ended = await clinic.workplace.waybill('resolve', before.run, '--resend', '--json')
    expect(ended.code).toBe(0)
    const { records, summary, resent } = resolvedOf(ended)
    expect(records).toBe(6)
    expect(resent?.records.biometric).toMatchObject({ made: 6, unchanged: 6, accepted: 0 })
    const json = JSON.parse((await clinic.workplace.waybill('show', before.run, '--json')).out)
    expect(json.decided).toMatchObject([{ decision: 'resend', by: userInfo().username }])
    expect(json.decided[0]).not.toHaveProperty('note')
    expect(summary.records.biometric).toMatchObject({ made: 6, accepted: 6, inDoubt: 0 })
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { 'read-back': 6 })
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ unchanged: 6 })
  })

  test('what is not there is sent, with the mapping that the run had', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'reset')
    expect(await clinic.stored()).toEqual([])
    await writeFile(
      `${clinic.workplace.folder}/mappings/clinic.yaml`,
      'mapping: clinic\nread: { format: csv }\n',
    )
    const ended = await clinic.workplace.waybill('resolve', before.run, '--resend', '--json')
    expect(ended.code).toBe(0)
    const { summary, resent } = resolvedOf(ended)
    expect(resent?.records.biometric).toMatchObject({ made: 6, accepted: 6 })
    expect(summary.records.biometric).toMatchObject({ made: 6, accepted: 0, rejected: 6, inDoubt: 0 })
    expect((await showOf(clinic, before.run)).settled).toEqual([{ run: resent?.run, count: 6 }])
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { answer: 6 })
  })

  test('killed between, the next run of the job goes on, and nothing is doubled', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const before = await runInDoubt(clinic, 'reset')
    let arrived = (): void => {}
    const underWay = new Promise<void>((resolve) => {
      arrived = resolve
    })
    clinic.strike(({ method }) => {
      if (method !== 'POST') return PASS
      arrived()
      return { do: 'pass-then-hang' }
    })
    const child = clinic.workplace.start('resolve', before.run, '--resend', '--json')
    await underWay
    const held = await clinic.run()
    expect(held.code).toBe(5)
    expect((await clinic.workplace.waybill('rerun', before.run)).code).toBe(5)
    expect((await clinic.workplace.waybill('resolve', before.run, '--accept')).code).toBe(5)
    const gone = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await gone
    clinic.strike(() => PASS)

    const refused = await clinic.workplace.waybill('resolve', before.run, '--accept')
    expect(refused.code).toBe(2)
    expect(refused.err).toContain('error run-unfinished')

    const next = await clinic.run()
    expect(next.code).toBe(0)
    const { run = '' } = summaryOf(next).resumed ?? {}
    expect((await showOf(clinic, run)).records.biometric).toMatchObject({ made: 6, accepted: 6 })
    const shown = await showOf(clinic, before.run)
    expect(shown.records.biometric).toMatchObject({ accepted: 0, rejected: 6, inDoubt: 0 })
    expect(shown.settled).toEqual([{ run, count: 6 }])
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { 'read-back': 6 })
  })

  test('the export is gone: it says so, and nothing is decided', async () => {
    const clinic = await openFaultyClinic()
    const path = await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const before = await runInDoubt(clinic, 'reset')
    await rm(path)
    const ended = await clinic.workplace.waybill('resolve', before.run, '--resend')
    expect(ended.code).toBe(2)
    expect(ended.err).toContain('error export-gone')
    expect((await showOf(clinic, before.run)).records.biometric).toMatchObject({ inDoubt: 3 })
  })

  test('what the gateway refuses is rejected, in both runs', async () => {
    const clinic = await openFaultyClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const before = await runInDoubt(clinic, 'reset')
    clinic.strike(({ method }) => (method === 'POST' ? { do: 'answer', status: 422 } : PASS))
    const ended = await clinic.workplace.waybill('resolve', before.run, '--resend', '--json')
    expect(ended.code).toBe(1)
    const { summary, resent } = resolvedOf(ended)
    expect(resent?.records.biometric).toMatchObject({ made: 3, rejected: 3 })
    expect(summary.records.biometric).toMatchObject({ made: 3, rejected: 3, inDoubt: 0 })
    expect(await readRejects(resent?.exports[0]?.rejects ?? '')).toHaveLength(3)
  })
})

test('a run without anything in doubt, and a command that does not decide: exit 2', async () => {
  const clinic = await openFaultyClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  const { run } = summaryOf(await clinic.run())
  const nothing = await clinic.workplace.waybill('resolve', run, '--accept')
  expect([nothing.code, nothing.err]).toEqual([2, expect.stringContaining('error nothing-left')])
  const undecided = await clinic.workplace.waybill('resolve', run)
  expect([undecided.code, undecided.err]).toEqual([2, expect.stringContaining('error usage-wrong')])
  const unknown = await clinic.workplace.waybill('resolve', 'none', '--accept')
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('error run-not-found')])
})
