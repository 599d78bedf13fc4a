/** A vendor puts another file in the place of one that a run has begun and not finished. */
import { expect, test } from 'vitest'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, GOOD, HEADER, JOB } from './clinic.ts'
import { createWorkplace, summaryOf } from './command-line.ts'
import { type FaultyClinic, openFaultyClinic, showOf } from './left-behind.ts'

const CAT = 'cat,2026-03-02,63,5.3,72.5,kg,fine\n'
const ALL = [...GOOD, 'cat body-weight 72.5', 'cat hba1c 5.3', 'cat heart-rate 63']

/** A run whose only batch was stored, or not, and never answered; then the vendor delivers a row more under the same name. */
async function replaced(what: 'pass-then-reset' | 'reset'): Promise<FaultyClinic & { readonly id: string }> {
  const clinic = await openFaultyClinic({ job: JOB, patience: '1s' })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  clinic.strike(({ method }) => (method === 'POST' ? { do: what } : answer(503)))
  const interrupted = await clinic.run()
  expect(interrupted.code).toBe(3)
  clinic.strike(() => PASS)
  await clinic.deliver('day.csv', `${HEADER}${CAT}${ANN}${BEN}`)
  expect((await clinic.run()).code).toBe(2)
  return { ...clinic, id: summaryOf(interrupted).run }
}

test.each([
  ['pass-then-reset', 6],
  ['reset', 0],
] as const)('given up, and begun anew: each record is stored once (%s)', async (what, found) => {
  const clinic = await replaced(what)
  const { waybill } = clinic.workplace
  const { out } = await waybill('show')
  expect(out).toContain(`\n    waybill resolve ${clinic.id} --give-up\n`)
  const givenUp = await waybill('resolve', clinic.id, '--give-up')
  expect(givenUp.code).toBe(0)
  expect(givenUp.out).toContain(`Run ${clinic.id} of clinic: failed (given-up) `)

  const after = summaryOf(await clinic.run())
  expect(after.run).not.toBe(clinic.id)
  expect(after.records.biometric).toMatchObject({
    made: 9,
    accepted: 9 - found,
    unchanged: found,
    inDoubt: 0,
  })
  expect(await clinic.stored()).toEqual(ALL)

  // From then on the ledger knows: nothing is looked for any more.
  await clinic.deliver('next.csv', `${HEADER}${CAT.replace('cat', 'dan')}`)
  expect(summaryOf(await clinic.run()).requests.readBack).toBe(0)
  expect((await waybill('runs', '--failed')).out).toBe('No run failed or has left anything behind.\n')
  const again = await waybill('resolve', clinic.id, '--give-up')
  expect([again.code, again.err.includes('error nothing-left')]).toEqual([2, true])
})

test('where nobody can tell whether the gateway has it, it is in doubt, and not sent', async () => {
  const clinic = await replaced('pass-then-reset')
  const { waybill } = clinic.workplace
  const told = `What it had in hand of day.csv is recognised where it comes again`
  expect((await waybill('resolve', clinic.id, '--give-up')).out).toContain(told)
  const asked = `run ${clinic.id} of clinic was given up: whether 6 of its records are stored was never answered`
  expect((await waybill('doctor')).out).toContain(asked)
  clinic.strike(({ method }) => (method === 'GET' ? answer(400) : PASS))
  const after = summaryOf(await clinic.run())
  const { reasons } = await showOf(clinic, after.run)
  // Those of cat were never under way: nothing is to be asked about them.
  expect(reasons.map(({ code, outcome, count }) => [code, outcome, count])).toEqual(
    Array(3).fill(['perhaps-sent', 'in-doubt', 2]),
  )
  expect(after.records.biometric).toMatchObject({ made: 9, accepted: 3, inDoubt: 6 })
  expect(await clinic.stored()).toEqual(ALL)
})

test('what was in hand comes again after another export of its name was read: each record is stored once', async () => {
  const clinic = await openFaultyClinic({ job: JOB, patience: '1s' })
  const { waybill } = clinic.workplace
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  clinic.strike(({ method }) => (method === 'POST' ? { do: 'pass-then-reset' } : answer(503)))
  const interrupted = summaryOf(await clinic.run())
  clinic.strike(() => PASS)
  await clinic.deliver('day.csv', `${HEADER}${CAT}`)
  expect((await waybill('resolve', interrupted.run, '--give-up')).code).toBe(0)
  expect(summaryOf(await clinic.run())).toMatchObject({
    state: 'finished',
    requests: { readBack: 0 },
    records: { biometric: { accepted: 3 } },
  })
  // Neither time nor pruning makes it forget what it may have sent.
  const prune = async () => JSON.parse((await waybill('prune', '--older-than', '0s', '--json')).out)
  expect((await prune()).runs).toContain(interrupted.run)
  // What it spares does not count as left over.
  expect(await prune()).toMatchObject({ runs: [], resumed: [] })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 0, unchanged: 6 })
  expect(await clinic.stored()).toEqual(ALL)
})

test('what the gateway has taken of an open chunk is not sent again, and no profile is read for it', async () => {
  const clinic = await openFaultyClinic({
    job: JOB,
    patience: '1s',
    submit: 'concurrency: 1, batch: { records: 3 }',
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  let sent = 0
  clinic.strike(({ method }) => (method === 'POST' && ++sent === 1 ? PASS : answer(503)))
  const interrupted = await clinic.run()
  expect([interrupted.code, (await clinic.stored()).length]).toEqual([3, 3])
  await clinic.workplace.waybill('resolve', summaryOf(interrupted).run, '--give-up')
  // Profiles cannot be read: what was never answered is in doubt.
  clinic.strike(({ method }) => (method === 'GET' ? answer(400) : PASS))
  const after = summaryOf(await clinic.run())
  expect(after.records.biometric).toMatchObject({ accepted: 0, unchanged: 3, inDoubt: 3 })
  clinic.strike(() => PASS)
  expect((await clinic.workplace.waybill('rerun', after.run, '--only', 'in-doubt')).code).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD)
})

test.each([
  [['--give-up', '--accept']],
  [['--give-up', '--transaction', '3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa']],
  [[]],
])('resolve %j is refused', async (options) => {
  const { waybill } = await createWorkplace()
  expect((await waybill('resolve', '20260302T071500Z-4f2a9c', ...options)).err).toContain('error usage-wrong')
})
