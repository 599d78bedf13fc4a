/** Questionnaires on paper: jobs that answer the paged test as the people who filled them in. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { answer, PASS, type Passing, startFaultProxy } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic, rejectsOf } from './clinic.ts'
import { gatewaySettings, type ReferenceStore, startReferenceStore } from './reference-store.ts'

const MAPPING = `mapping: clinic
read: { format: csv }
row:
  key: [id]
  account:
    reference: id
    register: { firstName: first, lastName: last, dateOfBirth: born, gender: gender, postalCode: zip }
assessment:
  answers:
    height: { facts: { height-feet: feet, height-inches: inches } }
    sitting-hours: { from: sitting, table: { a: sits-little, b: sits-some, c: sits-much } }
    tobacco: tobacco
    activity-kinds:
      - { from: walks, table: { x: did-walk } }
      - { from: sport, table: { x: did-train } }
    sleep-hours: { from: sleep, table: { "7": good, "5": short } }
`
const HEAD = 'id,first,last,born,gender,zip,feet,inches,sitting,tobacco,walks,sport,sleep\n'
/** By id, by value, by text. */
const row = (id: string, { feet = '5', tobacco = 'I never did', sleep = '7' } = {}): string =>
  `${id},A,B,1980-02-03,FEMALE,04884,${feet},7,a,${tobacco},x,x,${sleep}\n`

interface Papers extends Clinic {
  /** Whose tokens the gateway knows. */
  readonly bind: (...references: readonly string[]) => Promise<void>
  readonly through: (faultOf: Parameters<typeof startFaultProxy>[1]) => ReturnType<typeof startFaultProxy>
}

async function openPapers(
  command = 'echo "token-$WAYBILL_ACCOUNT_REFERENCE"',
  { job = '', ...given }: { readonly store?: ReferenceStore; readonly job?: string } = {},
): Promise<Papers> {
  const store = given.store ?? (await startReferenceStore())
  const clinic = await openClinic({
    mapping: MAPPING,
    job: `exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n${job}`,
    store,
    environment: { WAYBILL_USER_TOKEN_COMMAND: command },
  })
  return {
    ...clinic,
    async bind(...references) {
      for (const reference of references)
        await fetch(`${store.url}/_reference/tokens`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            token: `token-${reference}`,
            account: { reference, type: 'partnerAccountId' },
          }),
        })
    },
    async through(faultOf) {
      const proxy = await startFaultProxy(store.url, faultOf)
      Object.assign(clinic.workplace.environment, gatewaySettings(proxy.url))
      return proxy
    },
  }
}

const summaryOf = ({ out }: { readonly out: string }) => JSON.parse(out)
const receiptsOf = (summary: { readonly files: { readonly receipts: string } }) =>
  gunzipSync(readFileSync(summary.files.receipts))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const isAnswer = ({ method, path }: Passing): boolean => method === 'POST' && path === '/assessments/bioage'

it('answers each page as the person, once, and writes the age result into the receipt', async () => {
  const clinic = await openPapers()
  await clinic.bind('ann', 'ben')
  const proxy = await clinic.through(() => PASS)
  await clinic.deliver(
    'a.csv',
    HEAD + row('ann') + row('ben', { tobacco: 'current', sleep: '5' }) + row('ann'),
  )
  const first = await clinic.run()
  const summary = summaryOf(first)
  expect([first.code, summary]).toMatchObject([
    0,
    {
      balanced: true,
      records: { assessment: { made: 3, accepted: 2, unchanged: 1, rejected: 0 } },
      accounts: { registered: 2 },
    },
  ])
  const bodies = proxy.seen.filter(isAnswer).map(({ body }) => JSON.parse(body))
  expect(bodies).toHaveLength(2 * 5)
  expect(bodies.find(({ questionGroupId }) => questionGroupId === 'size')).toEqual({
    ...{ moduleId: 'body-and-day', questionGroupId: 'size' },
    answers: { height: [{ 'height-feet': 'feet-5' }, { 'height-inches': 'inches-7' }] },
  })
  expect(bodies.find(({ questionGroupId }) => questionGroupId === 'activity').answers).toEqual({
    'activity-kinds': [{ walked: 'did-walk' }, { trained: 'did-train' }],
  })
  // Months of the reference gateway's own rule: ann -3-6-4-6-5, ben -3+20-4-6+9.
  const ages = receiptsOf(summary).map(({ ageResult }) => ageResult)
  expect(ages.map(({ status }) => status)).toEqual(['COMPLETE', 'COMPLETE'])
  const months = ages.map(
    ({ bioAge, calendarAge }) => 12 * (bioAge.year - calendarAge.year) + bioAge.month - calendarAge.month,
  )
  expect(months).toEqual([-24, 16])

  // What is known is not asked about; a finished test is not taken again, whatever the paper says by now.
  const before = proxy.seen.length
  expect(summaryOf(await clinic.run()).records.assessment).toMatchObject({ made: 3, unchanged: 3 })
  expect(proxy.seen.slice(before).filter(({ path }) => path === '/assessments/bioage')).toEqual([])
  await clinic.deliver('a.csv', HEAD + row('ann', { sleep: '5' }))
  expect(summaryOf(await clinic.run()).records.assessment).toMatchObject({ made: 1, unchanged: 1 })
  expect(proxy.seen.filter(isAnswer)).toHaveLength(2 * 5)
})

it.each([
  ['an answer that the page does not offer', row('ben', { feet: '9' }), 'answer-not-offered'],
  ['a required answer that is missing', row('ben', { tobacco: '' }), 'answer-missing'],
  ['a value that is not in the table', row('ben', { sleep: '6' }), 'value-not-in-table'],
  ['a person without a token that stands for them', row('eve'), 'user-token-refused'],
])('stops %s, and nobody else; a test that was begun is gone on with', async (_, wrong, code) => {
  const clinic = await openPapers()
  await clinic.bind('ann', 'ben', 'cat')
  await clinic.deliver('a.csv', HEAD + row('ann') + wrong + row('cat'))
  const end = await clinic.run()
  expect([end.code, await rejectsOf(summaryOf(end))]).toEqual([1, [`line 3 assessment ${code}`]])
  expect(summaryOf(end).records.assessment).toMatchObject({ accepted: 2 })
  await clinic.bind('eve')
  const proxy = await clinic.through(() => PASS)
  await clinic.deliver('b.csv', HEAD + row(wrong.startsWith('eve') ? 'eve' : 'ben'))
  const again = await clinic.run('--file', join(clinic.workplace.folder, 'inbox/b.csv'))
  expect(again.code).toBe(0)
  const pages = proxy.seen.filter(isAnswer).length
  expect(pages).toBe({ 'answer-missing': 3, 'answer-not-offered': 5 }[code] ?? 5)
})

it('looks which page is next after an answer that was lost, and answers none twice', async () => {
  const clinic = await openPapers()
  await clinic.bind('ann')
  let lost = 0
  const proxy = await clinic.through((request) => {
    if (!isAnswer(request)) return PASS
    lost++
    // Of the second page the answer is lost, of the last one, too; of the third the request.
    if (lost === 2 || lost === 6) return { do: 'pass-then-reset' }
    return lost === 3 ? { do: 'reset' } : PASS
  })
  await clinic.deliver('a.csv', HEAD + row('ann'))
  const end = await clinic.run()
  expect([end.code, summaryOf(end).records.assessment]).toMatchObject([0, { accepted: 1 }])
  const groups = proxy.seen.filter(isAnswer).map(({ body }) => JSON.parse(body).questionGroupId)
  expect(groups).toEqual(['size', 'sitting', 'tobacco-use', 'tobacco-use', 'activity', 'sleep'])
})

it('asks for a new token where one has run out, and ends the person where that is no better', async () => {
  const clinic = await openPapers()
  await clinic.bind('ann', 'ben')
  const refused = { ann: 0, ben: 0 }
  await clinic.through((request) => {
    if (!isAnswer(request)) return PASS
    return refused.ann++ === 1 ? answer(401) : PASS
  })
  await clinic.deliver('a.csv', HEAD + row('ann'))
  expect((await clinic.run()).code).toBe(0)
  await clinic.through((request) => (isAnswer(request) ? answer(401) : PASS))
  await clinic.deliver('b.csv', HEAD + row('ben'))
  const end = await clinic.run('--file', join(clinic.workplace.folder, 'inbox/b.csv'))
  expect(await rejectsOf(summaryOf(end))).toEqual(['line 2 assessment user-token-refused'])
})

it('tells a command that has no token of a person, and goes on with the others; no shell reads a reference', async () => {
  const clinic = await openPapers(
    'case "$WAYBILL_ACCOUNT_REFERENCE" in a*) echo "token-$WAYBILL_ACCOUNT_REFERENCE";; *) exit 3;; esac',
  )
  await clinic.bind('ann', 'a$(touch owned)')
  await clinic.deliver('a.csv', HEAD + row('ann') + row('ben') + row('a$(touch owned)'))
  const end = await clinic.run()
  expect(await rejectsOf(summaryOf(end))).toContain('line 3 assessment user-token-refused')
  expect(() => readFileSync(join(clinic.workplace.folder, 'owned'))).toThrow('ENOENT')
})

it('says what is missing where nothing gives tokens', async () => {
  const clinic = await openPapers()
  delete clinic.workplace.environment['WAYBILL_USER_TOKEN_COMMAND']
  await clinic.deliver('a.csv', HEAD + row('ann'))
  const { code, out } = await clinic.run()
  expect([code, out]).toEqual([2, expect.stringContaining('WAYBILL_USER_TOKEN_COMMAND')])
})

it('goes on after SIGKILL: every test is finished, each page is answered with what the paper says', async () => {
  const clinic = await openPapers()
  const people = Array.from({ length: 30 }, (_, n) => `p${n}`)
  await clinic.bind(...people)
  let answers = 0
  let full = (): void => {}
  const seen = new Promise<void>((resolve) => {
    full = resolve
  })
  await clinic.through((request) => {
    if (isAnswer(request) && ++answers === 40) full()
    return PASS
  })
  await clinic.deliver('a.csv', HEAD + people.map((id) => row(id)).join(''))
  const child = clinic.workplace.start('run', 'clinic', '--json')
  await seen
  child.kill('SIGKILL')
  await once(child, 'exit')
  const end = await clinic.run()
  const summary = summaryOf(end)
  expect([end.code, summary]).toMatchObject([
    0,
    { balanced: true, records: { assessment: { made: 30, accepted: 30 } } },
  ])
  expect(receiptsOf(summary).map(({ ageResult }) => ageResult.status)).toEqual(people.map(() => 'COMPLETE'))
})

/** The person answers what is left of the test in the app: by the fields of the row, `short` sleep unlike the paper. */
async function finishInApp(url: string, reference: string): Promise<void> {
  const headers = {
    ...{ 'x-api-key': 'test-key', 'x-api-version': '1.0', 'content-type': 'application/json' },
    authorization: `Bearer token-${reference}`,
  }
  const answers: Record<string, object> = {
    size: { height: [{ 'height-feet': 'feet-6' }, { 'height-inches': 'inches-1' }] },
    sitting: { 'sitting-hours': [{ sitting: 'sits-much' }] },
    'tobacco-use': { tobacco: [{ 'tobacco-use': 'tobacco-never' }] },
    activity: { 'activity-kinds': [{ walked: 'did-walk' }] },
    sleep: { 'sleep-hours': [{ sleep: 'sleep-short' }] },
  }
  const call = async (method: string, body?: unknown) => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const answered = await fetch(`${url}/assessments/bioage`, { method, headers, ...init })
    expect(answered.status).toBeLessThan(300)
    return z
      .object({ data: z.array(z.looseObject({ questionGroupId: z.string() })) })
      .parse(await answered.json()).data[0]
  }
  for (let page = await call('GET'); page !== undefined; ) {
    const { moduleId, questionGroupId } = page
    page = await call('POST', { moduleId, questionGroupId, answers: answers[questionGroupId] })
  }
}

it('counts as accepted, after kills, the tests alone that were answered from the paper', async () => {
  const store = await startReferenceStore()
  const clinic = await openPapers(undefined, { store, job: 'submit: { concurrency: 1 }\n' })
  const people = ['ann', 'ben', 'cat', 'dan', 'eve', 'fay']
  await clinic.bind(...people)
  await fetch(`${store.url}/account/register`, {
    method: 'POST',
    headers: { 'x-api-key': 'test-key', 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ partnerAccountId: 'ann', firstName: 'A', lastName: 'B', gender: 'FEMALE' },
      ...{ dateOfBirth: '1980-02-03', postalCode: '04884' },
    }),
  })
  await finishInApp(store.url, 'ann')
  let answers = 0
  let held = (): void => {}
  const proxy = await clinic.through((request) => {
    if (!isAnswer(request)) return PASS
    answers++
    if (answers !== 10 && answers !== 13) return PASS
    // The last answer of cat is taken and never confirmed; the third of eve never comes through.
    if (answers === 10) return { do: 'pass-then-hang', passed: held }
    held()
    return { do: 'hang' }
  })
  await clinic.deliver('a.csv', HEAD + people.map((id) => row(id)).join(''))
  for (const inApp of ['dan', 'eve']) {
    const isHeld = new Promise<void>((resolve) => {
      held = resolve
    })
    const child = clinic.workplace.start('run', 'clinic', '--json')
    await isHeld
    child.kill('SIGKILL')
    await once(child, 'exit')
    await finishInApp(store.url, inApp)
  }
  const end = await clinic.run()
  const summary = summaryOf(end)
  expect([end.code, summary]).toMatchObject([
    0,
    { balanced: true, records: { assessment: { made: 6, accepted: 3, unchanged: 3 } } },
  ])
  expect(receiptsOf(summary)).toMatchObject([
    { transactionId: expect.stringContaining('-000002-'), ageResult: { status: 'COMPLETE' } },
    {
      transactionId: expect.stringContaining('-000003-'),
      learnedFrom: 'read-back',
      ageResult: { status: 'COMPLETE' },
    },
    { transactionId: expect.stringContaining('-000006-'), ageResult: { status: 'COMPLETE' } },
  ])
  expect(proxy.seen.filter(isAnswer)).toHaveLength(18)
  // A test that is known is not asked about again, whoever has answered it.
  const before = proxy.seen.filter(({ path }) => path === '/assessments/bioage').length
  expect(summaryOf(await clinic.run()).records.assessment).toMatchObject({ made: 6, unchanged: 6 })
  expect(proxy.seen.filter(({ path }) => path === '/assessments/bioage')).toHaveLength(before)
})

it('leaves no doubt of tests behind when a killed run is given up, and verifies none in profiles', async () => {
  const clinic = await openPapers(undefined, { job: 'submit: { concurrency: 1 }\n' })
  await clinic.bind('ben', 'cat', 'fay')
  let answers = 0
  let held = (): void => {}
  const isHeld = new Promise<void>((resolve) => {
    held = resolve
  })
  await clinic.through((request) => {
    if (!isAnswer(request) || ++answers !== 10) return PASS
    return { do: 'pass-then-hang', passed: held }
  })
  await clinic.deliver('a.csv', HEAD + row('ben') + row('cat') + row('fay'))
  const child = clinic.workplace.start('run', 'clinic', '--json')
  await isHeld
  child.kill('SIGKILL')
  await once(child, 'exit')
  const { out } = await clinic.workplace.waybill('runs', '--json')
  const { run } = JSON.parse(out).runs[0]
  expect((await clinic.workplace.waybill('resolve', run, '--give-up')).code).toBe(0)
  expect((await clinic.workplace.waybill('doctor')).out).not.toContain(run)
  const end = await clinic.run()
  expect([end.code, summaryOf(end)]).toMatchObject([
    0,
    { records: { assessment: { made: 3, accepted: 1, unchanged: 2 } } },
  ])
  const verified = await clinic.workplace.waybill('reconcile', summaryOf(end).run, '--verify', '--json')
  expect(verified.code).toBe(0)
  const { transactionId } = receiptsOf(summaryOf(end))[0]
  const traced = await clinic.workplace.waybill('trace', transactionId, '--json')
  expect(JSON.parse(traced.out).runs.slice(0, 1)).toMatchObject([
    { outcome: 'accepted', batches: [{ kind: 'assessment' }] },
  ])
})

it('runs a program of the folder for tokens', async () => {
  const clinic = await openPapers('./tokens')
  const program = join(clinic.workplace.folder, 'tokens')
  await writeFile(program, '#!/bin/sh\nprintf "token-%s\\n" "$WAYBILL_ACCOUNT_REFERENCE"\n')
  await chmod(program, 0o700)
  await clinic.bind('ann')
  await clinic.deliver('a.csv', HEAD + row('ann'))
  expect((await clinic.run()).code).toBe(0)
})
