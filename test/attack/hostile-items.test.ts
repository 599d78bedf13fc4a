/** One row, person, article or request that is made to break a run: it costs itself, and nothing of it is shown. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeError } from '../../src/cli/terminal-text.ts'
import { runShell } from '../../src/system/shell-command.ts'
import { ANN, GOOD, HEADER, JOB, openClinic, rejectsOf } from '../cli/clinic.ts'
import { createWorkplace, PROJECT } from '../cli/command-line.ts'
import { gatewaySettings, startReferenceStore } from '../cli/reference-store.ts'
import { type Fault, PASS, startFaultProxy } from '../faults/fault-proxy.ts'

const summaryOf = ({ out }: { readonly out: string }) => JSON.parse(out)

const jsonRow = (id: string, pulse: number, a1c: number, weight: number, more = ''): string =>
  `{"id":"${id}","day":"2026-03-02","pulse":${pulse},"a1c":${a1c},"weight":${weight},"unit":"kg"${more}}\n`

test('a line of JSON that is nested 8,000 deep is one row that is rejected', async () => {
  const clinic = await openClinic()
  const deep = `,"more":${'['.repeat(8_000)}${']'.repeat(8_000)}`
  await clinic.deliver(
    'a.ndjson',
    jsonRow('ann', 61, 5.1, 70.5) + jsonRow('eve', 60, 5, 70, deep) + jsonRow('ben', 62, 5.2, 71.5),
  )
  const end = await clinic.run()
  expect([end.code, await rejectsOf(summaryOf(end))]).toEqual([1, ['line 2 row-json-invalid']])
  expect(await clinic.stored()).toEqual(GOOD)
  // As deep as a record may be, and one more: brackets of the row itself count.
  const levels = (count: number): string => `,"more":${'['.repeat(count - 1)}${']'.repeat(count - 1)}`
  await clinic.deliver(
    'b.ndjson',
    jsonRow('cat', 61, 5, 70, levels(200)) + jsonRow('dan', 61, 5, 70, levels(201)),
  )
  expect(await rejectsOf(summaryOf(await clinic.run()))).toEqual(['line 2 row-json-invalid'])
})

const LIST = '/content/distribution/article'

/** A service with these articles, and a job that mirrors them. */
async function openMirror(of: (path: string, query: string) => Fault, collect = '') {
  const store = await startReferenceStore()
  const proxy = await startFaultProxy(store.url, ({ path, query }) =>
    path.startsWith(LIST) ? of(path.slice(LIST.length + 1), query) : PASS,
  )
  const workplace = await createWorkplace(gatewaySettings(proxy.url))
  await workplace.job('articles', `collect: { what: [articles]${collect} }\nto: { folder: ../out }\n`)
  return { workplace, proxy }
}
const told = (data: readonly object[]): Fault => ({ do: 'answer', status: 200, body: { code: 200, data } })

test('an article with the line separators of Unicode is one line, and its body one file of the manifest', async () => {
  const article = { id: 'a', title: 'one\u2028two\u2029three\u0085four', body: '<p>five\u2028six</p>' }
  const { workplace } = await openMirror((id) =>
    told([id === '' ? { id: 'a', title: article.title } : article]),
  )
  const { code, out } = await workplace.waybill('run', 'articles', '--json')
  expect(code).toBe(0)
  const folder = join(workplace.folder, 'out', JSON.parse(out).run)
  const [name = ''] = readdirSync(join(folder, 'bodies'))
  expect(readFileSync(join(folder, 'bodies', name), 'utf8')).toBe(article.body)
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  expect(manifest.files.filter((file: { name: string }) => file.name.startsWith('bodies/'))).toEqual([
    {
      name: `bodies/${name}`,
      bytes: Buffer.byteLength(article.body),
      sha256: createHash('sha256').update(article.body).digest('hex'),
    },
  ])
})

test('an article that is answered with another one, and one whose id leads elsewhere, are refused alone', async () => {
  const { workplace } = await openMirror((id) =>
    id === ''
      ? told([{ id: 'a' }, { id: 'b' }, { id: '..' }])
      : told([{ id: id === 'b' ? 'a' : id, body: `body of ${id}` }]),
  )
  const { code, out } = await workplace.waybill('run', 'articles', '--json')
  const summary = JSON.parse(out)
  expect([code, summary.people]).toMatchObject([1, { asked: 3, collected: 1, refused: 2 }])
  const folder = join(workplace.folder, 'out', summary.run)
  expect(readFileSync(join(folder, 'articles.ndjson'), 'utf8')).not.toContain('body of b')
})

test('a list of articles that never ends is given up, and told as that', async () => {
  let id = 0
  const { workplace, proxy } = await openMirror(
    () => told([{ id: ++id }]),
    ', articles: { page: { parameter: page } }',
  )
  const { code, err } = await workplace.waybill('run', 'articles', '--json')
  expect([code, err]).toEqual([3, expect.stringContaining('gateway-failing')])
  expect(proxy.seen.length).toBeLessThan(2_000)
})

const REQUESTS = `mapping: clinic
read: { format: csv }
row: { key: [ref], account: { reference: { concat: [{ constant: p- }, ref] } } }
medicalRecords:
  aps:
    reference: ref
    patient: { firstName: first, lastName: last, dob: born }
    provider: { groupName: practice }
    request: { requestType: Attending Physician Statement, requestSubType: "101", datesOfService: { start: born, end: born } }
    withdrawn: { state: withdrawn }
`

test('a reference that no path can hold is withdrawn for itself alone', async () => {
  const clinic = await openClinic({
    mapping: REQUESTS,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
    store: await startReferenceStore(),
  })
  const head = 'ref,first,last,born,practice,state\n'
  const row = (ref: string, state = ''): string => `${ref},Ann,Person,1980-02-03,North,${state}\n`
  const names = ['r1', 'r2', '..', '.', 'x'.repeat(140_000)]
  await clinic.deliver('a.csv', head + names.map((name) => row(name)).join(''))
  const sent = await clinic.run()
  expect(sent.err).not.toContain('x'.repeat(100))
  await clinic.deliver('b.csv', head + names.map((name) => row(name, 'withdrawn')).join(''))
  const end = await clinic.run('--file', join(clinic.workplace.folder, 'inbox/b.csv'))
  expect(end.err).not.toContain('x'.repeat(100))
  const summary = summaryOf(end)
  expect([end.code, summary.records.medicalRecords]).toMatchObject([
    1,
    { made: 5, accepted: 2, rejected: 3, pending: 0 },
  ])
  const rejects = await rejectsOf(summary)
  expect(rejects).toEqual([4, 5, 6].map((line) => `line ${line} aps withdrawal-refused`))
})

test.each([
  ['NUL', 'quixotine\0zephyrwell'],
  ['140,000 characters', `quixotine${'x'.repeat(140_000)}`],
])('a reference with %s that no command can be given ends that person, and is not shown', async (_, text) => {
  const ended = await runShell({
    command: 'echo token',
    timeoutMs: 60_000,
    environment: { PATH: process.env['PATH'], WAYBILL_ACCOUNT_REFERENCE: text },
    isRead: true,
  })
  expect(ended).toEqual({
    why: expect.stringMatching(/^cannot be started \((E2BIG|ERR_INVALID_ARG_VALUE)\)$/),
  })

  const store = await startReferenceStore()
  const clinic = await openClinic({
    mapping: `mapping: clinic
read: { format: ndjson }
row:
  key: [$.id]
  account: { reference: $.id, register: { firstName: $.id, lastName: $.id, dateOfBirth: $.born, gender: { constant: FEMALE }, postalCode: { constant: "04884" } } }
assessment: { answers: { tobacco: $.tobacco } }
`,
    job: 'exports: { from: ../inbox, match: "*.ndjson" }\nmapping: clinic\n',
    store,
    environment: { WAYBILL_USER_TOKEN_COMMAND: 'echo none' },
  })
  const people = ['ann', text, 'ben'].map((id) => JSON.stringify({ id, born: '1980-02-03', tobacco: 'a' }))
  await clinic.deliver('a.ndjson', people.join('\n'))
  const end = await clinic.run()
  expect([end.code, summaryOf(end).records.assessment]).toMatchObject([
    1,
    { made: 3, rejected: 3, pending: 0 },
  ])
  expect(end.out + end.err).not.toContain('quixotine')
})

test('a test whose pages never end is given up for that person alone', async () => {
  let pages = 0
  const clinic = await openClinic({
    mapping: `mapping: clinic
read: { format: csv }
row:
  key: [id]
  account: { reference: id, register: { firstName: id, lastName: id, dateOfBirth: born, gender: { constant: FEMALE }, postalCode: { constant: "04884" } } }
assessment: { answers: { tobacco: tobacco } }
`,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
    store: await startReferenceStore(),
    environment: { WAYBILL_USER_TOKEN_COMMAND: 'echo token' },
    faultOf: ({ path }) => {
      if (path !== '/assessments/bioage') return PASS
      const page = { moduleId: 'm', questionGroupId: `g${++pages}`, pageNumber: '1.1', questions: [] }
      return pages > 5_000 ? { do: 'hang' } : told([page])
    },
  })
  await clinic.deliver('a.csv', 'id,born,tobacco\nann,1980-02-03,a\n')
  const end = await clinic.run()
  expect([end.code, await rejectsOf(summaryOf(end))]).toEqual([1, ['line 2 assessment page-repeated']])
  expect(pages).toBeLessThan(2_000)
})

describe('an error that is not ours', () => {
  test('is told by its code and its place in our files, and never by its words', () => {
    let error: unknown
    try {
      new URL(`quixotine\n    at zephyrwell (${PROJECT}/src/quixotine.ts:1:2)`)
    } catch (thrown) {
      error = thrown
    }
    const words = describeError(error).join('\n')
    expect(words).toMatch(/^error unexpected: ERR_INVALID_URL$/m)
    expect(words).toContain('test/attack/hostile-items.test.ts:')
    expect(words).not.toMatch(/quixotine|zephyrwell|node:internal/)
  })

  test('is not told by what it was renamed to', () => {
    const error = Object.assign(new Error('a'), { name: 'Quix otine', code: 'zephyr well' })
    expect(describeError(error).join('\n')).not.toMatch(/Quix|zephyr/)
    expect(describeError('quixotine').join('\n')).not.toContain('quixotine')
  })
})

test('an answer with errors nested 8,000 deep is the fault of its record', async () => {
  const deep = `{"code":422,"errors":[${'{"errors":['.repeat(8_000)}1${']}'.repeat(8_000)}]}`
  const clinic = await openClinic({
    job: `${JOB}submit: { batch: { records: 3 }, readLag: 10ms }\n`,
    faultOf: ({ body, path }) =>
      path.includes('biometrics') && body.includes('"eve"')
        ? { do: 'raw', bytes: `HTTP/1.1 422 No\r\ncontent-length: ${deep.length}\r\n\r\n${deep}` }
        : PASS,
  })
  await clinic.deliver('a.csv', `${HEADER}${ANN}eve,2026-03-02,60,5.0,70.0,kg,fine\n`)
  const end = await clinic.run()
  expect([end.code, await rejectsOf(summaryOf(end))]).toEqual([
    1,
    ['heart-rate', 'hba1c', 'body-weight'].map((rule) => `line 3 ${rule} refused`),
  ])
  expect(await clinic.stored()).toEqual(GOOD.slice(0, 3))
})
