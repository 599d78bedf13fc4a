/** A vendor puts another file in the place of one that a run has begun and not finished. */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, CLINIC, GOOD, HEADER, JOB } from './clinic.ts'
import { createWorkplace, ended, summaryOf } from './command-line.ts'
import { expectReceipts, type FaultyClinic, openFaultyClinic, showOf, writeMapping } from './left-behind.ts'

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
  const { waybill, home } = clinic.workplace
  const { out } = await waybill('show')
  expect(out).toContain(`\n    waybill resolve ${clinic.id} --give-up\n`)
  // What a killed process had unpacked is the export, too.
  await mkdir(join(home, 'spool', '1', 'unpacked', 'x-killed'), { recursive: true })
  const givenUp = await waybill(
    'resolve',
    clinic.id,
    '--give-up',
    '--by',
    'Night desk',
    '--note',
    'file lost',
  )
  expect(givenUp.out).toMatch(/^Decided at \S+Z by Night desk: give-up\. file lost$/m)
  expect(givenUp.code).toBe(0)
  expect(await readdir(join(home, 'spool'))).toEqual([])
  expect(givenUp.out).toContain(`Run ${clinic.id} of clinic: failed (given-up), exit code 2, after`)

  const after = summaryOf(await clinic.run())
  expect(after.run).not.toBe(clinic.id)
  expect(after.records.biometric).toMatchObject({
    made: 9,
    accepted: 9 - found,
    unchanged: found,
    inDoubt: 0,
  })
  expect(await clinic.stored()).toEqual(ALL)
  await expectReceipts(clinic, found === 0 ? { answer: 9 } : { answer: 3, 'read-back': 6 })

  // From then on the ledger knows: nothing is looked for any more.
  await clinic.deliver('next.csv', `${HEADER}${CAT.replace('cat', 'dan')}`)
  expect(summaryOf(await clinic.run()).requests.readBack).toBe(0)
  expect((await waybill('runs', '--failed')).out).toBe('No run failed or left anything behind.\n')
  const again = await waybill('resolve', clinic.id, '--give-up')
  expect([again.code, again.err.includes('error nothing-left')]).toEqual([2, true])
})

test('where nobody can tell whether the gateway has it, it is in doubt, and not sent', async () => {
  const clinic = await replaced('pass-then-reset')
  const { waybill } = clinic.workplace
  const told = `Records of day.csv that were in flight are recognised when they come again`
  expect((await waybill('resolve', clinic.id, '--give-up')).out).toContain(told)
  const asked = `run ${clinic.id} of clinic was given up: 6 of its records are unanswered`
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
  await expectReceipts(clinic, { answer: 6 })
})

const OTHER_NAME = CLINIC.replace('heart-rate: "pulse"', 'pulse: { catalog: heart-rate, from: pulse }')

test('what was sent under another name of its rule is not overlooked once the rule has its former name back', async () => {
  const clinic = await openFaultyClinic({
    job: JOB,
    patience: '1s',
    submit: 'concurrency: 1, batch: { records: 1 }',
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  expect((await clinic.run()).code).toBe(0)
  const [first] = (await clinic.stored()).filter((record) => record.startsWith('ann heart-rate'))
  await writeMapping(clinic, OTHER_NAME)
  await clinic.deliver('day.csv', `${HEADER}${ANN.replace('61', '70')}${BEN}`)
  let sent = 0
  clinic.strike(({ method }) => (method === 'POST' && ++sent > 1 ? answer(503) : PASS))
  const interrupted = await clinic.run()
  expect(await clinic.stored()).toContain('ann heart-rate 70')
  expect((await clinic.workplace.waybill('resolve', summaryOf(interrupted).run, '--give-up')).code).toBe(0)
  clinic.strike(() => PASS)
  await writeMapping(clinic, CLINIC)
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1, unchanged: 2 })
  expect((await clinic.stored()).filter((record) => record === first)).toHaveLength(2)
})

/** Sent under another name of the rule without an answer, and left in doubt: what the gateway has now, and the run. */
async function inDoubtUnderOtherName(): Promise<FaultyClinic & { readonly id: string }> {
  const clinic = await openFaultyClinic({ job: JOB, patience: '1s' })
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  expect((await clinic.run()).code).toBe(0)
  await writeMapping(clinic, OTHER_NAME)
  await clinic.deliver('day.csv', `${HEADER}${ANN.replace('61', '70')}`)
  clinic.strike(({ method }) => (method === 'POST' ? { do: 'pass-then-reset' } : answer(400)))
  const { run, records } = summaryOf(await clinic.run())
  expect(records.biometric).toMatchObject({ unchanged: 2, inDoubt: 1 })
  clinic.strike(() => PASS)
  expect(await clinic.stored()).toContain('ann heart-rate 70')
  return { ...clinic, id: run }
}

test.each([
  ['was in doubt and is found by reconcile', ['reconcile'], { accepted: 1, unchanged: 2 }],
  ['was in doubt, until a person accepted it', ['resolve', '--accept'], { accepted: 1, unchanged: 2 }],
  ['is in doubt', [], { inDoubt: 1, unchanged: 2 }],
])(
  'what was sent under another name of its rule, and %s, is replaced under the former name',
  async (_how, command, records) => {
    const clinic = await inDoubtUnderOtherName()
    const { waybill } = clinic.workplace
    const [name, ...options] = command
    if (name !== undefined) expect((await waybill(name, clinic.id, ...options)).code).toBe(0)
    await writeMapping(clinic, CLINIC)
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const after = summaryOf(await clinic.run())
    expect(after.records.biometric).toMatchObject(records)
    // The doubt about the other name keeps records of the series waiting.
    if (name === undefined) return
    expect((await clinic.stored()).filter((record) => record === 'ann heart-rate 61')).toHaveLength(2)
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 0, unchanged: 3 })
  },
)

test('a correction that was accepted before its run was given up ends the doubt about the value before it', async () => {
  const clinic = await openFaultyClinic({
    job: JOB,
    patience: '1s',
    submit: 'concurrency: 1, batch: { records: 1 }',
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN.replace('03-02', '04-02')}`)
  expect((await clinic.run()).code).toBe(0)
  // Ann's pulse is hidden by the later visit: no profile can tell.
  await clinic.deliver('day.csv', `${HEADER}${BEN}${ANN}`)
  let first = 0
  clinic.strike(({ method }) => (method === 'POST' && ++first === 4 ? { do: 'pass-then-reset' } : PASS))
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 5, inDoubt: 1 })
  const corrected = `${HEADER}${ANN.replace('61', '65')}`
  await clinic.deliver('day.csv', `${corrected}${CAT}`)
  let second = 0
  clinic.strike(({ method }) => (method === 'POST' && ++second > 1 ? answer(503) : PASS))
  const interrupted = summaryOf(await clinic.run())
  expect(await clinic.stored()).toContain('ann heart-rate 65')
  expect((await clinic.workplace.waybill('resolve', interrupted.run, '--give-up')).code).toBe(0)
  clinic.strike(() => PASS)
  await clinic.deliver('day.csv', corrected)
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ unchanged: 3, inDoubt: 0 })
})

test('a care team that two equal rows bring, never stored by the run that was given up, has one receipt', async () => {
  const clinic = await openFaultyClinic({
    job: JOB,
    patience: '1s',
    mapping: CLINIC.replace(/biometrics:.*/s, 'careTeams: { doctor: { npi: remark, name: id } }'),
  })
  const row = ANN.replace('fine', '1234567893')
  await clinic.deliver('day.csv', `${HEADER}${row}${row}`)
  const sent = Promise.withResolvers<void>()
  clinic.strike(({ method, path }) => {
    if (method !== 'POST' || !path.includes('care-teams')) return PASS
    sent.resolve()
    return { do: 'hang' }
  })
  const killed = clinic.workplace.start('run', 'clinic')
  await sent.promise
  killed.kill('SIGKILL')
  await ended(killed)
  const [id = ''] = /\d{8}T\d{6}Z-[0-9a-f]{6}/.exec((await clinic.workplace.waybill('runs')).out) ?? []
  expect((await clinic.workplace.waybill('resolve', id, '--give-up')).code).toBe(0)
  clinic.strike(() => PASS)
  expect((await clinic.run()).code).toBe(0)
  await expectReceipts(clinic, { answer: 1 })
})

/** Given up with an open chunk: a batch of three whose records are in doubt, and one that was never answered; both were stored, or not. */
async function givenUpInDoubt(
  what: 'pass-then-reset' | 'reset' = 'pass-then-reset',
): Promise<FaultyClinic & { readonly id: string; readonly inDoubt: readonly string[] }> {
  const clinic = await openFaultyClinic({
    job: JOB,
    patience: '1s',
    submit: 'concurrency: 1, batch: { records: 3 }',
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  // Which of the two is read first is chance: that one is in doubt.
  let first: string | undefined
  clinic.strike(({ method, query }) => {
    if (method === 'POST') return { do: what }
    first ??= query
    return answer(query === first ? 400 : 503)
  })
  const { run } = summaryOf(await clinic.run())
  clinic.strike(() => PASS)
  expect(await clinic.stored()).toEqual(what === 'reset' ? [] : GOOD)
  await clinic.workplace.waybill('resolve', run, '--give-up')
  const inDoubt = GOOD.filter((record) => first?.includes(record.slice(0, 3)))
  expect(inDoubt).toHaveLength(3)
  return { ...clinic, id: run, inDoubt }
}
/** Profiles cannot be read: whatever is to be recognised must be known. */
const blind: Parameters<FaultyClinic['strike']>[0] = ({ method }) => (method === 'GET' ? answer(400) : PASS)
/** What the doctor says of the run, and the list of needs of its doubts. */
const toldByDoctor = async ({ workplace, id }: FaultyClinic & { readonly id: string }): Promise<string[]> => [
  ...(await workplace.waybill('doctor')).out.split('\n').filter((line) => line.includes(id)),
  ...(await workplace.waybill('needs')).out.split('\n').filter((line) => line.includes(`reconcile ${id}`)),
]

describe('what a run that was given up has in an open chunk, in doubt or never answered', () => {
  test('is settled by reconcile: found in the profiles, it is known, and the doctor tells of it no more', async () => {
    const clinic = await givenUpInDoubt()
    const { waybill } = clinic.workplace
    expect(await toldByDoctor(clinic)).toHaveLength(3)
    expect((await waybill('show', clinic.id)).out).toContain(`\n    waybill reconcile ${clinic.id}\n`)
    clinic.strike(blind)
    const unknown = await waybill('reconcile', clinic.id, '--json')
    expect([unknown.code, JSON.parse(unknown.out)]).toMatchObject([1, { found: 0, batches: 0, inDoubt: 6 }])
    clinic.strike(() => PASS)
    const { code, out } = await waybill('reconcile', clinic.id, '--json')
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { found: 3, missed: 0, batches: 1, inDoubt: 0, summary: { balanced: true, rows: { read: 0 } } },
    ])
    expect(await toldByDoctor(clinic)).toEqual([])
    clinic.strike(blind)
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ made: 6, unchanged: 6 })
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { 'read-back': 6 })
  })

  test('is settled by a person where the file is gone: accepted, it is not sent, also after pruning', async () => {
    const clinic = await givenUpInDoubt()
    const { waybill } = clinic.workplace
    await clinic.deliver('day.csv', `${HEADER}${CAT}${ANN}${BEN}`)
    const gone = await waybill('reconcile', clinic.id)
    expect([gone.code, gone.err]).toEqual([2, expect.stringContaining('error export-gone')])
    expect(gone.err).toContain(`If you know that the gateway has them: waybill resolve ${clinic.id} --accept`)
    const { code, out } = await waybill('resolve', clinic.id, '--accept', '--json')
    expect([code, JSON.parse(out)]).toMatchObject([0, { records: 6, summary: { balanced: true } }])
    await expectReceipts(clinic, { decision: 6 })
    expect(await toldByDoctor(clinic)).toEqual([])
    const again = await waybill('resolve', clinic.id, '--accept')
    expect([again.code, again.err]).toEqual([2, expect.stringContaining('error nothing-left')])
    const prune = async () => JSON.parse((await waybill('prune', '--older-than', '0s', '--json')).out)
    expect((await prune()).runs).toContain(clinic.id)
    expect(await prune()).toMatchObject({ runs: [], resumed: [] })
    clinic.strike(blind)
    const after = summaryOf(await clinic.run())
    expect(after.records.biometric).toMatchObject({ made: 9, accepted: 3, unchanged: 6 })
    expect(await clinic.stored()).toEqual(ALL)
  })

  test('is sent again by a person as far as it is in doubt; what was never answered is sent when it comes again', async () => {
    const clinic = await givenUpInDoubt()
    const { waybill } = clinic.workplace
    clinic.strike(blind)
    const first = JSON.parse((await waybill('reconcile', clinic.id, '--json')).out)
    expect(first.inDoubt).toBe(6)
    clinic.strike(() => PASS)
    const resent = JSON.parse((await waybill('resolve', clinic.id, '--resend', '--json')).out)
    expect(resent).toMatchObject({ records: 3, resent: { records: { biometric: { unchanged: 3 } } } })
    const nothing = await waybill('resolve', clinic.id, '--resend')
    expect([nothing.code, nothing.err]).toEqual([2, expect.stringContaining('error nothing-left')])
    expect(nothing.err).toContain(`To look now: waybill reconcile ${clinic.id}.`)
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ made: 6, unchanged: 6 })
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { 'read-back': 6 })
  })

  test('not found by reconcile it is rejected; rerun sends it, and settles that', async () => {
    const clinic = await givenUpInDoubt('reset')
    const { waybill } = clinic.workplace
    const { code, out } = await waybill('reconcile', clinic.id, '--json')
    expect([code, JSON.parse(out)]).toMatchObject([0, { found: 0, missed: 3, batches: 1, inDoubt: 0 }])
    const typed = `\n    waybill rerun ${clinic.id} --only rejected\n`
    expect((await waybill('show', clinic.id)).out).toContain(typed)
    const sent = summaryOf(await waybill('rerun', clinic.id, '--only', 'rejected', '--json'))
    expect(sent.records.biometric).toMatchObject({ made: 3, accepted: 3 })
    expect(await clinic.stored()).toEqual(clinic.inDoubt)
    // Its balance counts nothing of a chunk that was open: so nothing of that is settled in it.
    expect((await showOf(clinic, clinic.id)).settled).toBeUndefined()
    expect((await waybill('show', clinic.id)).out).not.toContain(typed)
    const nothing = await waybill('rerun', clinic.id)
    expect([nothing.code, nothing.err]).toEqual([2, expect.stringContaining('error nothing-left')])
    // What was never answered, and is not there, comes with its export.
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 3, unchanged: 3 })
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, { answer: 6 })
  })

  test('sent by a later run, it is in doubt no more: corrected, and the correction taken back, it is sent again', async () => {
    const clinic = await givenUpInDoubt('reset')
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 6 })
    const [row, pulse] = clinic.inDoubt.includes('ann heart-rate 61') ? [ANN, '61'] : [BEN, '62']
    for (const value of ['75', pulse]) {
      await clinic.deliver(`pulse-${value}.csv`, HEADER + row.replace(`,${pulse},`, `,${value},`))
      expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 1, inDoubt: 0 })
    }
    const again = ['75', pulse].map((value) => `${row.slice(0, 3)} heart-rate ${value}`)
    expect(await clinic.stored()).toEqual([...GOOD, ...again].sort())
  })

  test.each([
    ['pass-then-reset', { accepted: 0, unchanged: 6 }],
    ['reset', { accepted: 6, unchanged: 0 }],
  ] as const)('is settled by the run in which it comes again: %s', async (what, records) => {
    const clinic = await givenUpInDoubt(what)
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject(records)
    expect(await clinic.stored()).toEqual(GOOD)
    await expectReceipts(clinic, what === 'reset' ? { answer: 6 } : { 'read-back': 6 })
    expect((await clinic.workplace.waybill('doctor')).out).not.toContain(`3 of run ${clinic.id}`)
    expect((await clinic.workplace.waybill('runs', '--failed')).out).toBe(
      'No run failed or left anything behind.\n',
    )
  })
})

test.each([
  [['--give-up', '--accept']],
  [['--give-up', '--transaction', '3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa']],
  [[]],
])('resolve %j is refused', async (options) => {
  const { waybill } = await createWorkplace()
  expect((await waybill('resolve', '20260302T071500Z-4f2a9c', ...options)).err).toContain('error usage-wrong')
})
