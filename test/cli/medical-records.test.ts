/** Jobs that ask for medical records: upserts by reference number, authorizations as PDFs, withdrawals. */
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { answer, type Fault, PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic, rejectsOf } from './clinic.ts'
import { PROJECT } from './command-line.ts'
import { gatewaySettings, type ReferenceStoreOptions, startReferenceStore } from './reference-store.ts'

const MAPPING = `mapping: clinic
read: { format: csv }
row: { key: [ref], account: { reference: member } }
medicalRecords:
  aps:
    reference: ref
    patient: { firstName: first, lastName: last, dob: { from: born, format: MM/dd/yyyy }, reference: member, type: { constant: partnerAccountId } }
    provider: { groupName: practice, phone: phone, others: { practiceId: practice } }
    request:
      requestType: Attending Physician Statement
      requestSubType: { from: sub }
      datesOfService: { start: from, end: to }
      disclosures: [lab_reports, { from: more }]
    authorization: { file: { concat: [ref, { constant: .pdf }] } }
    withdrawn: { state: withdrawn }
`
const JOB = `exports: { from: ../inbox, match: "*.csv" }
mapping: clinic
medicalRecords: { authorizations: ../authorizations }
`
const HEAD = 'ref,member,first,last,born,practice,phone,sub,from,to,more,state\n'

interface Row {
  readonly phone?: string
  readonly sub?: string
  readonly more?: string
  readonly to?: string
  readonly state?: string
  readonly last?: string
}
const row = (ref: string, said: Row = {}): string => {
  const { phone = '555', sub = '101', more = '', to = '2025-12-31', state = '', last = 'Person' } = said
  return `${ref},m-${ref},Ann,${last},02/03/1980,North,${phone},${sub},2020-01-01,${to},"${more}",${state}\n`
}
const pdfOf = (ref: string): Buffer =>
  Buffer.concat([Buffer.from(`%PDF-1.7 ${ref} `), Buffer.from([0, 255, 13, 10]), Buffer.from('\n%%EOF\n')])

interface Requester extends Clinic {
  readonly authorize: (...references: readonly string[]) => Promise<void>
  /** What the gateway holds, by reference number. */
  readonly held: () => Map<
    string,
    { readonly fields: Record<string, never>; readonly pdf: Buffer | undefined }
  >
  /** Puts a proxy between. */
  readonly through: (faultOf: Parameters<typeof startFaultProxy>[1]) => ReturnType<typeof startFaultProxy>
}

async function openRequester(options: ReferenceStoreOptions = {}, job = JOB): Promise<Requester> {
  const dataFile = join(PROJECT, `node_modules/.cache/requests-${process.pid}-${opened++}.sqlite`)
  await mkdir(join(PROJECT, 'node_modules/.cache'), { recursive: true })
  onTestFinished(() => Promise.all(globSync(`${dataFile}*`).map((file) => rm(file))).then(() => undefined))
  const store = await startReferenceStore({ ...options, dataFile })
  const clinic = await openClinic({ mapping: MAPPING, job, store })
  const folder = join(clinic.workplace.folder, 'authorizations')
  await mkdir(folder)
  return {
    ...clinic,
    async authorize(...references) {
      for (const ref of references) await writeFile(join(folder, `${ref}.pdf`), pdfOf(ref))
    },
    held() {
      const database = new DatabaseSync(dataFile, { readOnly: true })
      try {
        const rows = database
          .prepare('SELECT reference_number, body, authorization FROM medical_records_requests ORDER BY 1')
          .all()
        return new Map(
          rows.map(({ reference_number: reference, body, authorization }) => [
            String(reference),
            {
              fields: JSON.parse(String(body)),
              pdf: authorization instanceof Uint8Array ? Buffer.from(authorization) : undefined,
            },
          ]),
        )
      } finally {
        database.close()
      }
    },
    async through(faultOf) {
      const proxy = await startFaultProxy(store.url, faultOf)
      Object.assign(clinic.workplace.environment, gatewaySettings(proxy.url))
      return proxy
    },
  }
}
let opened = 0

const summaryOf = ({ out }: { readonly out: string }) => JSON.parse(out)

it('sends requests once, with their documents byte for byte, and changes alone afterwards', async () => {
  const clinic = await openRequester()
  await clinic.authorize('r1', 'r2')
  await clinic.deliver('a.csv', HEAD + row('r1', { more: 'x_ray_reports, pft' }) + row('r2'))
  const first = await clinic.run()
  expect(first.code).toBe(0)
  expect(summaryOf(first)).toMatchObject({
    balanced: true,
    rows: { read: 2, mapped: 2 },
    records: { medicalRecords: { made: 2, accepted: 2 }, biometric: { made: 0 } },
    accounts: { registered: 0 },
  })
  const held = clinic.held()
  expect([...held].map(([ref, { pdf }]) => [ref, pdf])).toEqual(['r1', 'r2'].map((ref) => [ref, pdfOf(ref)]))
  expect(held.get('r1')?.fields).toEqual({
    referenceNumber: 'r1',
    patient: {
      ...{ type: 'partnerAccountId', reference: 'm-r1' },
      ...{ firstName: 'Ann', lastName: 'Person', dob: '1980-02-03' },
    },
    provider: { groupName: 'North', phone: '555', practiceId: 'North' },
    request: {
      ...{ type: '', requestType: 'Attending Physician Statement', requestSubType: '101' },
      datesOfService: { type: 'startEnd', start: '2020-01-01', end: '2025-12-31' },
      disclosures: ['lab_reports', 'x_ray_reports', 'pft'],
    },
    webhook: { url: '' },
  })

  const traced = await clinic.workplace.waybill('trace', '--row', 'a.csv:2', '--json')
  const [record] = JSON.parse(traced.out).records
  expect(record).toMatchObject({ rule: 'aps', run: summaryOf(first).run, outcome: 'accepted' })
  const forward = await clinic.workplace.waybill('trace', record.transactionId, '--json')
  expect(JSON.parse(forward.out)).toMatchObject({ row: 2, runs: [{ outcome: 'accepted', batches: [] }] })

  // The second time nothing is sent, whatever the file is called.
  await clinic.deliver('b.csv', HEAD + row('r1', { more: 'x_ray_reports, pft' }) + row('r2'))
  expect(summaryOf(await clinic.run())).toMatchObject({
    records: { medicalRecords: { made: 4, unchanged: 4, accepted: 0 } },
    requests: { sent: 0 },
  })

  const dry = await clinic.workplace.waybill('run', 'clinic', '--dry-run')
  expect(dry.out).toContain('made 4: 0 to send, 4 delivered before')
  // What is empty by now is cleared; the older file says nothing against the newer one.
  await clinic.deliver('c.csv', HEAD + row('r1', { phone: '', more: 'pft' }))
  expect(summaryOf(await clinic.run())).toMatchObject({
    records: { medicalRecords: { made: 5, accepted: 1, unchanged: 4 } },
  })
  expect(clinic.held().get('r1')?.fields).toMatchObject({
    provider: { groupName: 'North' },
    request: { disclosures: ['lab_reports', 'pft'] },
  })
  expect(clinic.held().get('r1')?.fields['provider']).not.toHaveProperty('phone')
  expect(summaryOf(await clinic.run())).toMatchObject({
    records: { medicalRecords: { made: 5, accepted: 0, unchanged: 5 } },
    requests: { sent: 0 },
  })
})

it('waits for a document that is not there yet, or is none, and takes it up in a later run', async () => {
  const clinic = await openRequester()
  const at = (name: string): string => join(clinic.workplace.folder, 'authorizations', name)
  await clinic.authorize('r1')
  await writeFile(at('r3.pdf'), '<html>')
  await writeFile(at('elsewhere'), pdfOf('r4'))
  await symlink(at('elsewhere'), at('r4.pdf'))
  await clinic.deliver('a.csv', HEAD + ['r1', 'r2', 'r3', 'r4'].map((ref) => row(ref)).join(''))
  const first = await clinic.run()
  const summary = summaryOf(first)
  expect(first.code).toBe(1)
  expect(summary.records.medicalRecords).toMatchObject({ made: 4, accepted: 1, rejected: 3 })
  expect(await rejectsOf(summary)).toEqual([
    'line 3 aps awaiting-authorization',
    'line 4 aps authorization-unusable',
    'line 5 aps authorization-unusable',
  ])
  expect([...clinic.held()].map(([ref, { pdf }]) => [ref, pdf !== undefined])).toEqual([
    ...[['r1', true]],
    ...[['r2', false]],
    ...[['r3', false]],
    ...[['r4', false]],
  ])

  // Nothing has come: nothing is sent.
  const none = summaryOf(await clinic.run())
  expect(none).toMatchObject({
    requests: { sent: 0 },
    records: { medicalRecords: { unchanged: 1, rejected: 3 } },
  })
  await clinic.authorize('r2')
  const again = await clinic.workplace.waybill('rerun', none.run, '--json')
  expect(summaryOf(again).records.medicalRecords).toMatchObject({ made: 3, accepted: 1, rejected: 2 })
  expect(clinic.held().get('r2')?.pdf).toEqual(pdfOf('r2'))
  await clinic.authorize('r3')
  await rm(at('r4.pdf'))
  await clinic.authorize('r4')
  const last = await clinic.run()
  expect([last.code, summaryOf(last).records.medicalRecords]).toMatchObject([
    0,
    { accepted: 2, unchanged: 2 },
  ])
  // A document that was taken may go.
  await rm(at('r1.pdf'))
  await clinic.deliver('b.csv', HEAD + row('r1', { phone: '556' }))
  expect((await clinic.run()).code).toBe(0)
})

it('asks for a new address once, where one is refused, and never tells an address', async () => {
  const clinic = await openRequester()
  await clinic.authorize('r1', 'r2')
  const proxy = await clinic.through(({ method, earlier }) =>
    method === 'PATCH' && earlier === 0
      ? {
          do: 'pass-then-edit',
          edit: (envelope) => ({
            ...envelope,
            data: envelope.data.map((one) => ({
              ...one,
              authorizationUploadUrl: String(one['authorizationUploadUrl']).replace(
                /\/uploads\/.*$/,
                '/uploads/spent',
              ),
            })),
          }),
        }
      : PASS,
  )
  await clinic.deliver('a.csv', HEAD + row('r1') + row('r2'))
  const end = await clinic.run()
  expect([end.code, summaryOf(end).records.medicalRecords]).toMatchObject([0, { accepted: 2 }])
  expect(proxy.seen.filter(({ method }) => method === 'PATCH')).toHaveLength(3)
  expect([...clinic.held().values()].map(({ pdf }) => pdf)).toEqual([pdfOf('r1'), pdfOf('r2')])
  const kept = globSync('home/**/*', { cwd: clinic.workplace.folder, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), 'latin1'))
  expect(kept.filter((text) => text.includes('/uploads/'))).toEqual([])
})

it('leaves a document that no address takes for a later run', async () => {
  const clinic = await openRequester({ uploadLifetimeMs: 0 })
  await clinic.authorize('r1')
  await clinic.deliver('a.csv', HEAD + row('r1'))
  const end = await clinic.run()
  expect(end.code).toBe(1)
  expect(await rejectsOf(summaryOf(end))).toEqual(['line 2 aps authorization-refused'])
  expect(clinic.held().get('r1')?.pdf).toBeUndefined()
})

it('withdraws what is not processed, tells what is, and asks anew for what was withdrawn', async () => {
  const clinic = await openRequester()
  await clinic.authorize('done')
  await clinic.deliver('a.csv', HEAD + row('done') + row('open'))
  expect((await clinic.run()).code).toBe(1)
  const withdrawn = { state: 'withdrawn' }
  await clinic.deliver(
    'b.csv',
    HEAD + row('done', withdrawn) + row('open', withdrawn) + row('never', withdrawn),
  )
  const end = await clinic.run('--file', join(clinic.workplace.folder, 'inbox/b.csv'))
  const summary = summaryOf(end)
  expect(await rejectsOf(summary)).toEqual(['line 2 aps withdrawal-refused'])
  expect(summary.records.medicalRecords).toMatchObject({ made: 3, accepted: 1, rejected: 1, unchanged: 1 })
  expect([...clinic.held().keys()]).toEqual(['done'])
  await clinic.authorize('open')
  await clinic.deliver('c.csv', HEAD + row('open'))
  const asked = await clinic.run('--file', join(clinic.workplace.folder, 'inbox/c.csv'))
  expect([asked.code, [...clinic.held().keys()]]).toEqual([0, ['done', 'open']])
})

it('counts a lost answer to a deletion by what a search shows', async () => {
  const clinic = await openRequester()
  await clinic.through(({ method, earlier }) =>
    method === 'DELETE' && earlier === 0 ? { do: 'pass-then-reset' } : PASS,
  )
  await clinic.authorize()
  await clinic.deliver('a.csv', HEAD + row('r1'))
  expect((await clinic.run()).code).toBe(1)
  await clinic.deliver('a.csv', HEAD + row('r1', { state: 'withdrawn' }))
  const end = await clinic.run()
  expect([end.code, summaryOf(end).records.medicalRecords]).toMatchObject([0, { made: 1, accepted: 1 }])
  expect(clinic.held().size).toBe(0)
})

it('of rows with one reference number the last counts', async () => {
  const clinic = await openRequester()
  await clinic.authorize('r1')
  await clinic.deliver(
    'a.csv',
    HEAD + row('r1', { phone: '1' }) + row('r1', { phone: '2' }) + row('r1', { phone: '2' }),
  )
  const proxy = await clinic.through(() => PASS)
  const first = summaryOf(await clinic.run())
  expect(first.records.medicalRecords).toMatchObject({ made: 3, accepted: 1, unchanged: 2 })
  const upserts = proxy.seen.filter(({ method }) => method === 'PATCH')
  expect(upserts.map(({ body }) => JSON.parse(body).length)).toEqual([1])
  expect(clinic.held().get('r1')?.fields).toMatchObject({ provider: { phone: '2' } })
})

it.each<[string, Row, Fault | undefined, string]>([
  ['a type that is not offered', { sub: 'nothing' }, undefined, 'request-type-unknown'],
  ['a type that is disabled', { sub: '103' }, undefined, 'request-type-unknown'],
  ['dates that are crossed', { to: '2019-01-01' }, undefined, 'date-invalid'],
  ['a disclosure that is none', { more: 'all_of_it' }, undefined, 'disclosure-unknown'],
  ['an empty name', { last: '' }, undefined, 'value-missing'],
])('rejects %s, and sends the others', async (_, said, _fault, code) => {
  const clinic = await openRequester()
  await clinic.authorize('r1', 'r2', 'r3')
  await clinic.deliver('a.csv', HEAD + row('r1') + row('r2', said) + row('r3'))
  const end = await clinic.run()
  expect(await rejectsOf(summaryOf(end))).toEqual([`line 3 aps ${code}`])
  expect([...clinic.held().keys()]).toEqual(['r1', 'r3'])
})

it.each<[string, (position: number) => Fault, string]>([
  ['refuses', () => answer(400, {}, 'no such patient'), 'refused'],
  [
    'lists an error',
    () => ({
      do: 'answer',
      status: 200,
      body: { code: 200, message: 'OK', data: [], errors: [{ code: 1, message: 'bad' }] },
    }),
    'listed-as-error',
  ],
  [
    'does not name a request',
    () => ({ do: 'answer', status: 200, body: { code: 200, message: 'OK', data: [] } }),
    'not-echoed',
  ],
])('finds the one that the gateway %s by halving', async (_, faultOf, code) => {
  const clinic = await openRequester()
  await clinic.authorize('r1', 'r2', 'r3', 'r4')
  await clinic.through(({ method, body }) =>
    method === 'PATCH' && body.includes('"r3"') ? faultOf(0) : PASS,
  )
  await clinic.deliver('a.csv', HEAD + ['r1', 'r2', 'r3', 'r4'].map((ref) => row(ref)).join(''))
  const end = await clinic.run()
  expect(await rejectsOf(summaryOf(end))).toEqual([`line 4 aps ${code}`])
  expect([...clinic.held().keys()]).toEqual(['r1', 'r2', 'r4'])
})

it('goes on after SIGKILL in the middle: each request with its last content, each document whole, the balance exact', async () => {
  const clinic = await openRequester({}, `${JOB}submit: { batch: { records: 10 } }\n`)
  const references = Array.from({ length: 120 }, (_, n) => `r${n}`)
  await clinic.authorize(...references)
  let upserts = 0
  let full = (): void => {}
  const seen = new Promise<void>((resolve) => {
    full = resolve
  })
  await clinic.through(({ method }) => {
    if (method === 'PATCH' && ++upserts === 7) full()
    return PASS
  })
  await clinic.deliver('a.csv', HEAD + references.map((ref) => row(ref)).join(''))
  const child = clinic.workplace.start('run', 'clinic', '--json')
  await seen
  child.kill('SIGKILL')
  await once(child, 'exit')
  const end = await clinic.run()
  expect([end.code, summaryOf(end)]).toMatchObject([
    0,
    { balanced: true, records: { medicalRecords: { made: 120, accepted: 120, unchanged: 0 } } },
  ])
  const held = clinic.held()
  expect([...held.keys()]).toEqual(references.toSorted())
  for (const [ref, { pdf }] of held) expect(pdf, ref).toEqual(pdfOf(ref))
  expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
})

it.each([
  [
    'registers',
    MAPPING.replace(
      'reference: member }',
      'reference: member, register: { firstName: first, lastName: last, dateOfBirth: born, gender: sub, postalCode: sub } }',
    ),
    'register',
  ],
  ['has records of profiles', `${MAPPING}biometrics: { heart-rate: sub }\n`, 'medicalRecords'],
  ['names a disclosure that is none', MAPPING.replace('lab_reports', 'labs'), 'disclosures'],
])('refuses a mapping that %s', async (_, mapping, told) => {
  const clinic = await openRequester()
  await writeFile(join(clinic.workplace.folder, 'mappings/clinic.yaml'), mapping)
  const { code, err } = await clinic.workplace.waybill('mapping', 'check', 'clinic')
  expect([code, err]).toEqual([2, expect.stringContaining(told)])
})

it('refuses a job without the folder that its mapping needs', async () => {
  const clinic = await openRequester({}, 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n')
  await clinic.deliver('a.csv', HEAD + row('r1'))
  const { code, out } = await clinic.run()
  expect([code, summaryOf({ out }).error]).toMatchObject([2, { code: 'job-invalid' }])
})

it('a collection finds the requests that the mapping of the page sends', async () => {
  const [, mapping = ''] =
    /```yaml\n(mapping: records\n[^`]*)```/.exec(
      readFileSync(join(PROJECT, 'docs/medical-records.md'), 'utf8'),
    ) ?? []
  const clinic = await openClinic({
    mapping: mapping.replace('mapping: records', 'mapping: clinic'),
    job: JOB,
    store: await startReferenceStore(),
  })
  await mkdir(join(clinic.workplace.folder, 'authorizations'))
  const columns = 'ref,member_id,first,last,born,practice,npi,phone,purpose,from,to,more,state\n'
  const of = (ref: string, member: string): string =>
    `${ref},${member},Ann,Person,02/03/1980,North,1234567893,555,life,2020-01-01,2020-12-31,,\n`
  await clinic.deliver('a.csv', `${columns}${of('r1', 'm-1')}${of('r2', 'm-2')}${of('r3', 'm-1')}`)
  expect((await clinic.run()).code).toBe(1)
  await clinic.workplace.job(
    'status',
    `people: { exports: { from: ../inbox, match: "*.csv" }, mapping: clinic }
collect: { what: [requestStatus], requests: [{ type: Attending Physician Statement, subType: Life Insurance }] }
to: { folder: ../out }
`,
  )
  const { code, out } = await clinic.workplace.waybill('run', 'status', '--json')
  const lines = readFileSync(
    join(clinic.workplace.folder, 'out', JSON.parse(out).run, 'people.ndjson'),
    'utf8',
  )
  const found = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(code).toBe(0)
  expect(
    found.map(({ account, requestStatus }) => [
      account.reference,
      requestStatus.map((one: { referenceNumber: string }) => one.referenceNumber).sort(),
    ]),
  ).toEqual([
    ['m-1', ['r1', 'r3']],
    ['m-2', ['r2']],
  ])
})
