/**
 * Runs with marked people and values, against a gateway that quotes all it is sent in its errors, and looks for the marks in
 * every byte that Waybill writes. Rejects files alone may hold them: they are there to be corrected.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type Clinic, openClinic } from '../cli/clinic.ts'
import { summaryOf, type Workplace } from '../cli/command-line.ts'
import { gatewaySettings, startReferenceStore } from '../cli/reference-store.ts'
import { answer, type Fault, PASS, type Passing, startFaultProxy } from './fault-proxy.ts'

/** Each is found nowhere by chance; dates and values also as the wire writes them. */
const MARKS = [
  'Quixotine',
  'Zephyrwell',
  'ZQ-77140-REF',
  '1961-07-13',
  '07/13/1961',
  '83319',
  '81.7391',
  '5.8173',
  '1.2345678e',
  'Borvaine',
  'mark-remark',
]

const MAPPING = `mapping: clinic
read: { format: csv }
row:
  key: [id, day]
  account:
    reference: id
    register:
      firstName: first
      lastName: last
      dateOfBirth: { from: dob, format: MM/dd/yyyy }
      gender: { from: sex, table: { F: FEMALE, M: MALE } }
      postalCode: zip
  observedAt: { from: day, format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics:
  hba1c: a1c
  body-weight: { from: weight, unit: kg }
conditions:
  asthma: { when: { dx: Y }, status: { from: state, table: { C: active } } }
careTeams:
  pcp: { when: { npi: present }, npi: npi, name: doctor, primary: true }
`
const HEADER = 'id,first,last,dob,sex,zip,day,a1c,weight,dx,state,npi,doctor,remark\n'

/** A person's row, told apart by a number behind the reference. */
const row = (
  n: number,
  more: Partial<Record<'a1c' | 'state' | 'day' | 'sex' | 'npi', string>> = {},
): string =>
  [
    `ZQ-77140-REF${n}`,
    ...['Quixotine', 'Zephyrwell', '07/13/1961', more.sex ?? 'F', '83319'],
    ...[more.day ?? '2026-03-02', more.a1c ?? '5.8173', '81.7391', 'Y', more.state ?? 'C'],
    ...[more.npi ?? '1234567893', 'Dr. Borvaine', 'mark-remark'],
  ].join(',')

const ROWS = [
  row(1),
  row(2, { a1c: '1.2345678e99' }),
  row(3, { state: 'Borvaine' }),
  row(4, { day: '07/13/1961' }),
  row(5, { sex: 'Quixotine' }),
  row(6, { npi: '83319' }),
  `${row(7)},Zephyrwell`,
  `"${row(8)}`,
].join('\n')

/** Quotes the request in every way in which a gateway might: in errors, messages, pages of HTML, and answers in part. */
const quoting =
  (way: string) =>
  ({ method, path, body, earlier }: Passing): Fault => {
    if (method !== 'POST' || earlier > 1) return PASS
    if (way === 'refused') return answer(400, {}, body)
    if (way === 'refused people') return path.endsWith('/register') ? answer(422, {}, body) : PASS
    if (way === 'failing') return earlier === 0 ? { do: 'pass-then-answer', status: 500, body } : PASS
    if (way === 'HTML') return { do: 'pass-then-garble', garble: () => `<h1>${body}</h1>` }
    return {
      do: 'pass-then-edit',
      edit: (envelope) => ({ ...envelope, data: [], errors: [{ message: body }, body] }),
    }
  }

const WAYS = ['refused', 'refused people', 'failing', 'HTML', 'in part']

/** What was written: by file or stream. */
async function written(workplace: Workplace): Promise<Map<string, Buffer>> {
  const files = await readdir(workplace.home, { recursive: true, withFileTypes: true })
  const all = new Map<string, Buffer>()
  for (const file of files) {
    const path = join(file.parentPath, file.name)
    if (!file.isFile() || path.includes(`${sep}rejects${sep}`)) continue
    const bytes = await readFile(path)
    all.set(path, path.endsWith('.gz') ? gunzipSync(bytes) : bytes)
  }
  return all
}

function marksIn(texts: Iterable<readonly [string, Buffer | string]>): string[] {
  const found: string[] = []
  for (const [where, content] of texts) {
    const bytes = Buffer.from(content)
    for (const mark of MARKS)
      if (bytes.includes(mark) || bytes.includes(Buffer.from(mark, 'utf16le')))
        found.push(`${mark} in ${where}`)
  }
  return found
}

async function openMarked(way: string, environment: Record<string, string>): Promise<Clinic> {
  const store = await startReferenceStore()
  const proxy = await startFaultProxy(store.url, quoting(way))
  const clinic = await openClinic({
    store,
    mapping: MAPPING,
    environment: { ...gatewaySettings(proxy.url), ...environment },
    job: `exports: { from: ../inbox, match: "*.csv", mapping: clinic }
submit: { inDoubt: hold, batch: { records: 3 }, readLag: 100ms }
`,
  })
  await clinic.deliver('marked.csv', `${HEADER}${ROWS}\n`)
  return clinic
}

/** The most talkative one is that of all the runs above. */
const LEVELS = ['error', 'warn', 'info']

describe('nothing of a person is written', () => {
  test.for(WAYS.map((way, at) => ({ way, form: at % 2 === 0 ? 'text' : 'json' })))(
    'by a run whose requests are $way, logged in full as $form; nor by show, report, trace and dry run',
    { timeout: 60_000 },
    async ({ way, form }) => {
      const environment = {
        WAYBILL_LOG_FORMAT: form,
        WAYBILL_LOG_LEVEL: 'debug',
        WAYBILL_LOG_FILE: 'home/waybill.log',
        WAYBILL_METRICS_FILE: 'home/{job}.prom',
      }
      const clinic = await openMarked(way, environment)
      const said: [string, string][] = []
      const say = async (...args: string[]): Promise<{ out: string; err: string }> => {
        const ended = await clinic.workplace.waybill(...args)
        said.push([`output of ${args.join(' ')}`, ended.out], [`messages of ${args.join(' ')}`, ended.err])
        return ended
      }
      await say('run', 'clinic', '--dry-run')
      const first = summaryOf(Object.assign(await say('run', 'clinic', '--json'), { code: null }))
      // Something was sent and something rejected, else there was nothing to leak.
      expect(first.requests.sent).toBeGreaterThan(0)
      expect(first.rows.rejected).toBeGreaterThan(0)
      await say('run', 'clinic')
      await say('runs')
      await say('show', first.run)
      await say('show', first.run, '--json')
      await say('report', first.run, '--out', 'report.html')
      said.push(['the report', await readFile(join(clinic.workplace.folder, 'report.html'), 'utf8')])
      const files = await written(clinic.workplace)
      const [, ledger] = [...files].find(([path]) => path.endsWith('ledger.sqlite')) ?? []
      expect(ledger?.length).toBeGreaterThan(0)
      const told = (name: string): string => String(files.get(join(clinic.workplace.home, name)))
      expect(told('waybill.log')).toContain('record rejected')
      expect(told('clinic.prom')).toContain('waybill_last_run_rejects{')
      const [stored] = await clinic.store.records('biometric')
      if (stored?.transactionId !== undefined) await say('trace', stored.transactionId)
      expect(marksIn([...files, ...said])).toEqual([])
    },
  )

  test.for(LEVELS)('at level %s', { timeout: 60_000 }, async (level) => {
    const clinic = await openMarked('in part', { WAYBILL_LOG_LEVEL: level })
    const { out, err } = await clinic.run()
    expect(
      marksIn([...(await written(clinic.workplace)), ['standard output', out], ['standard error', err]]),
    ).toEqual([])
  })

  test('the search finds what is there: the rejects file, and what the gateway stored', async () => {
    const clinic = await openMarked('failing', {})
    const { rejects = '' } = summaryOf(await clinic.run()).exports[0] ?? {}
    const found = marksIn([['rejects', await readFile(rejects)]])
    expect(found).toContain('mark-remark in rejects')
    const stored = JSON.stringify(await clinic.store.allRecords())
    expect(marksIn([['store', stored]])).toEqual(
      expect.arrayContaining(['ZQ-77140-REF in store', '81.7391 in store', 'Borvaine in store']),
    )
  })
})
