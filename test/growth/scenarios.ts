/** What takes longer the more there is: of rows, columns, names, files. Twice as much must not take more than twice the work. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import leven from 'leven'
import { type ArrivalRules, sortExports } from '../../src/extract/arrival/verify-delivery.ts'
import { type Delivery, listingOf, meantBy } from '../../src/extract/sources/source.ts'
import { runCommandLine } from '../../src/main.ts'
import { matchAnswer } from '../../src/reconcile/match.ts'
import { ANY_RULES, completeBeside } from '../../src/run/found-delivery.ts'
import { didYouMean } from '../../src/system/schema-problems.ts'
import { biometric, condition, entryOf, OBSERVED_AT } from '../load/made-up-entries.ts'

const PROJECT = resolve(import.meta.dirname, '../..')

export interface Scenario {
  readonly n: number
  /** @returns the work, which alone is counted */
  prepare(n: number, folder: string): Promise<() => unknown>
}

const MAPPING = (read: string, key: (name: string) => string): string => `mapping: clinic
read: { ${read} }
row:
  key: ["${key('id')}", "${key('day')}"]
  account: { reference: "${key('id')}", type: partnerAccountId }
  observedAt: { from: "${key('day')}", format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics:
  heart-rate: "${key('pulse')}"
`
const OF_COLUMNS = MAPPING('format: csv', (name) => name).replace(
  'type: partnerAccountId',
  `type: partnerAccountId, register: {
    firstName: first, lastName: last, dateOfBirth: { from: born, format: yyyy-MM-dd }, gender: { from: gender }, postalCode: zip }`,
)
const OF_MEMBERS = MAPPING('format: json, records: "$[*]"', (name) => `$.${name}`)

const JOB = `job: clinic
exports: { from: ../inbox, match: "*.csv", mapping: clinic }
submit: { readLag: 100ms }
`

/** To read the shipped one takes longer than what is counted. */
async function writeSmallCatalog(folder: string): Promise<void> {
  const shipped = join(PROJECT, 'mappings/catalog')
  await mkdir(folder)
  await cp(join(shipped, 'unit-spellings.csv'), join(folder, 'unit-spellings.csv'))
  const synonyms = (await readFile(join(shipped, 'synonyms.csv'), 'utf8')).split('\n')
  const ofThese = synonyms.filter((line, at) => at === 0 || /^(heart-rate|body-weight|diabetes),/.test(line))
  await writeFile(join(folder, 'synonyms.csv'), `${ofThese.join('\n')}\n`)
  await writeFile(
    join(folder, 'biometrics.yaml'),
    `heart-rate: { name: Heart rate, loinc: 8867-4, unit: /min, range: [20, 300], usual: [55, 95], decimals: 0 }
body-weight: { name: Body weight, loinc: 29463-7, unit: kg, range: [1, 500], usual: [50, 120], decimals: 1 }
`,
  )
  await writeFile(
    join(folder, 'conditions.yaml'),
    'diabetes: { name: "Diabetes mellitus, type not told", icd10: E11.9, snomed: "73211009" }\n',
  )
}

/** Runs a command over files of its own. That it finds something wrong is none of the counter's business; a defect is. */
const command =
  (files: (n: number) => Readonly<Record<string, string>>, ...args: readonly string[]): Scenario['prepare'] =>
  async (n, folder) => {
    for (const one of ['home', 'jobs', 'inbox', 'mappings'])
      await mkdir(join(folder, one), { recursive: true })
    await writeSmallCatalog(join(folder, 'mappings/catalog'))
    await writeFile(join(folder, 'jobs/clinic.yaml'), JOB)
    await writeFile(join(folder, 'mappings/clinic.yaml'), OF_COLUMNS)
    for (const [name, text] of Object.entries(files(n))) await writeFile(join(folder, name), text)
    return async () => {
      process.chdir(folder)
      let said = ''
      const note = (text: string): void => {
        said += text
      }
      const code = await runCommandLine(args, {
        environment: {
          WAYBILL_HOME: join(folder, 'home'),
          WAYBILL_JOBS: join(folder, 'jobs'),
          WAYBILL_MAPPINGS: join(folder, 'mappings'),
          WAYBILL_GATEWAY_URL: 'built-in',
        },
        folder,
        out: note,
        err: note,
        terminal: false,
        interrupt: new AbortController().signal,
      })
      if (process.env['SAY']) process.stderr.write(`${code} ${said.slice(0, 700)}\n`)
      if (code === 70) throw new Error(said.slice(0, 2_000))
    }
  }

/** Half of it is more than what is done with the first rows alone, and than a chunk has. */
const BEYOND = 5_200

const times = (n: number, of: (at: number) => string, between = ','): string =>
  Array.from({ length: n }, (_, at) => of(at)).join(between)

const HEADER = 'id,day,pulse,first,last,born,gender,zip\n'
/** What people are registered with. */
const REGISTERED = 'Diana,Moor,1983-10-14,FEMALE,04884'
const rows = (n: number, of: (at: number) => string): string => `${HEADER}${times(n, of, '\n')}\n`
const row = (at: number): string => `p${at},2026-03-02,6${at % 10},${REGISTERED}`
const dayOf = (at: number): string => new Date(Date.UTC(1995, 0, 1 + at)).toISOString().slice(0, 10)
/** Nobody has such a pulse. */
const rejected = (at: number): string => `p${at},2026-03-02,none,${REGISTERED}`

const drafted = (n: number, sample: string, text: (n: number) => string): Scenario => ({
  n,
  prepare: command((size) => ({ [sample]: text(size) }), 'mapping', 'init', sample, '--out', 'draft.yaml'),
})

const checked = (n: number, text: (n: number) => string, ...options: readonly string[]): Scenario => ({
  n,
  prepare: command(
    (size) => ({ 'inbox/a.csv': text(size) }),
    ...['mapping', 'check', 'clinic', '--export', 'inbox/a.csv', '--rows', '1000000', ...options],
  ),
})

const ran = (
  n: number,
  files: (n: number) => Readonly<Record<string, string>>,
  ...options: readonly string[]
): Scenario => ({
  n,
  prepare: command(files, 'run', 'clinic', ...options),
})

const json = (n: number, text: (n: number) => string): Scenario => ({
  n,
  prepare: command(
    (size) => ({ 'mappings/clinic.yaml': OF_MEMBERS, 'inbox/a.csv': text(size) }),
    ...['mapping', 'check', 'clinic', '--export', 'inbox/a.csv', '--rows', '1000000'],
  ),
})

const OBX = (at: number): string => `OBX|${at + 1}|NM|A1C^Hemoglobin A1c^L||5.1${at % 10}|%|4.0-5.6|N|||F`
const message = (at: number, segments: string): string =>
  `MSH|^~\\&|LAB|NORTH|HUB|US|20260226130000-0500||ORU^R01^ORU_R01|M-${at}|P|2.5.1\rPID|1||${at}^^^NORTH||Moor^Diana||19831014|F\rOBR|1||EL-${at}|PANEL^HbA1c|||20260225081500-0600\r${segments}\r`

const hl7 = (n: number, text: (n: number) => string): Scenario => ({
  n,
  prepare: async (size, folder) => {
    const prepared = command(
      (many) => ({ 'inbox/a.hl7': text(many) }),
      ...['mapping', 'check', 'hl7v2-oru', '--export', 'inbox/a.hl7', '--rows', '1000000'],
    )
    const work = await prepared(size, folder)
    await cp(join(PROJECT, 'mappings'), join(folder, 'mappings'), { recursive: true })
    return work
  },
})

const RULES: ArrivalRules = {
  match: 'a_{date:yyyyMMdd}_*.csv',
  stableForMs: 0,
  marker: '{name}.done',
  manifest: '*.manifest',
  checksum: '{name}.sha256',
}
const delivery = (name: string): Delivery => ({ name, bytes: 1, modifiedAt: 0, version: '1' })
const NAMES = (n: number): Delivery[] =>
  Array.from({ length: n }, (_, at) =>
    [`a_20260302_${at}.csv`, `a_20260302_${at}.csv.done`, `a_20260302_${at}.csv.sha256`].map(delivery),
  ).flat()

const pure = (n: number, prepare: (n: number) => () => unknown): Scenario => ({
  n,
  prepare: async (size) => prepare(size),
})

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'mapping init: equal headings': drafted(
    200,
    'a.csv',
    (n) => `${times(n, () => 'a')}\n${times(n, String)}\n${times(n, String)}\n`,
  ),
  'mapping init: different headings': drafted(
    400,
    'a.csv',
    (n) => `${times(n, (at) => `column ${at}`)}\n${times(n, String)}\n${times(n, String)}\n`,
  ),
  'mapping init: headings that are known': drafted(
    400,
    'a.csv',
    (n) =>
      `id,day,${times(n, (at) => `Weight (kg) ${at}`)}\np1,2026-03-02,${times(n, () => '70')}\np2,2026-03-02,${times(n, () => '71')}\n`,
  ),
  'mapping init: providers': drafted(
    100,
    'a.csv',
    (n) =>
      `id,day,${times(n, (at) => `doctor${at} npi,doctor${at} name`)}\np1,2026-03-02,${times(n, () => '1245319599,Moor')}\n`,
  ),
  'mapping init: a heading of many words': drafted(
    400,
    'a.csv',
    (n) => `id,day,${times(n, (at) => `word${at}`, ' ')}\np1,2026-03-02,70\np2,2026-03-02,71\n`,
  ),
  'mapping init: rows': drafted(500, 'a.csv', (n) => rows(n, row)),
  'mapping init: texts in a column': drafted(
    500,
    'a.csv',
    (n) =>
      `id,day,gender,test,value,unit\n${times(n, (at) => `p${at},2026-03-02,g${at},test ${at},${at},u${at}`, '\n')}\n`,
  ),
  'mapping init: members of JSON': drafted(400, 'a.json', (n) =>
    JSON.stringify([Object.fromEntries(Array.from({ length: n }, (_, at) => [`member ${at}`, at]))]),
  ),
  'mapping init: elements of JSON': drafted(400, 'a.json', (n) =>
    JSON.stringify(Array.from({ length: n }, (_, at) => ({ id: `p${at}`, day: '2026-03-02', pulse: at }))),
  ),
  'mapping check: columns': checked(
    1_000,
    (n) => `${HEADER.trim()},${times(n, (at) => `column ${at}`)}\n${row(1)},${times(n, String)}\n`,
  ),
  'mapping check: headings that stand twice': checked(
    2_000,
    (n) => `${HEADER.trim()},${times(n, () => 'a')}\n${row(1)},${times(n, String)}\n`,
  ),
  'mapping check: columns that are missing': checked(
    1_000,
    (n) => `${times(n, (at) => `pulze ${at}`)}\n${times(n, String)}\n`,
  ),
  'csv: rows': checked(BEYOND, (n) => rows(n, (at) => (at % 2 === 0 ? row(at) : rejected(at)))),
  'csv: blank lines': checked(20_000, (n) => `${HEADER}${'\n'.repeat(n)}${row(1)}\n`),
  'csv: a long cell': checked(
    60_000,
    (n) => `${HEADER}"${'x""\n'.repeat(n)}",2026-03-02,61,${REGISTERED}\n${row(2)}\n`,
  ),
  'csv: quotes that are not closed': checked(20_000, (n) => `${HEADER}${times(n, () => '"x', '\n')}\n`),
  'csv: quotes within cells': checked(20_000, (n) => `${HEADER}${times(n, () => 'x"y,"z",', '\n')}\n`),
  'json: elements': json(BEYOND, (n) =>
    JSON.stringify(Array.from({ length: n }, (_, at) => ({ id: `p${at}`, day: '2026-03-02', pulse: 60 }))),
  ),
  'json: members': json(2_000, (n) =>
    JSON.stringify([
      {
        id: 'p',
        day: '2026-03-02',
        pulse: 60,
        ...Object.fromEntries(Array.from({ length: n }, (_, at) => [`m${at}`, at])),
      },
    ]),
  ),
  'json: a long text': json(60_000, (n) =>
    JSON.stringify([{ id: 'p', day: '2026-03-02', pulse: 60, text: '\\"'.repeat(n) }]),
  ),
  'json: damaged elements': json(2_000, (n) => `[${times(n, () => '{"id":}')}]`),
  'hl7: messages': hl7(200, (n) => times(n, (at) => message(at, OBX(0)), '')),
  'hl7: segments': hl7(400, (n) => message(1, times(n, OBX, '\r'))),
  'hl7: repetitions': hl7(2_000, (n) =>
    message(1, `OBX|1|NM|A1C^Hemoglobin A1c^L||${times(n, () => '5.1', '~')}|%`),
  ),
  'a run: rows': ran(BEYOND, (n) => ({
    'inbox/a.csv': rows(n, (at) => (at % 2 === 0 ? row(at) : rejected(at))),
  })),
  'a run: rows of one person, some of which are duplicates': ran(BEYOND, (n) => ({
    'inbox/a.csv': rows(n, (at) => `p,${dayOf(at % 5 === 4 ? at - 1 : at)},60,${REGISTERED}`),
  })),
  'a run: exports that fail': ran(150, (n) =>
    Object.fromEntries(Array.from({ length: n }, (_, at) => [`inbox/${at}.csv`, ''])),
  ),
  'a run: exports': ran(60, (n) =>
    Object.fromEntries(Array.from({ length: n }, (_, at) => [`inbox/${at}.csv`, rows(1, row)])),
  ),
  'a listing: exports with what lies beside them': pure(1_000, (n) => {
    const listing = NAMES(n)
    const announced = new Map(listing.map(({ name }) => [name, {}]))
    return () => sortExports(RULES, [...listing, delivery('m.manifest')], announced, 1)
  }),
  'a listing: files that are joined': pure(1_000, (n) => {
    const listing = NAMES(n)
    return () => completeBeside({ ...ANY_RULES, ...RULES }, '*.csv', listing, new Map(), 1)
  }),
  'a listing: names that are refused': pure(3_000, (n) => {
    const listing = Array.from({ length: n }, (_, at) => delivery(`a\n${at}.csv`))
    return () => meantBy(['*.csv', '*.manifest'], listingOf(listing).refused)
  }),
  'a backfill: exports': {
    n: 32,
    prepare: command(
      (n) => ({
        'jobs/clinic.yaml': JOB.replace('*.csv', '{date:yyyyMMdd}_*.csv'),
        ...Object.fromEntries(
          Array.from({ length: n }, (_, at) => [`inbox/20260302_${at}.csv`, rows(1, row)]),
        ),
      }),
      ...['backfill', 'clinic', '--from', '2026-03-01', '--to', '2026-03-03'],
    ),
  },
  'an answer whose echoes name no record by its id': pure(500, (n) => {
    const entries = Array.from({ length: n }, () => entryOf(condition))
    const echo = {
      account: { ...entries[0]?.account },
      codes: [{ code: 'E11.9' }],
      observationDate: OBSERVED_AT,
    }
    const echoes = entries.map(() => ({ transactionId: undefined, ...echo }))
    return () => matchAnswer(entries, { echoes, errors: [] }, () => undefined)
  }),
  'an answer whose errors name a record each': pure(500, (n) => {
    const entries = Array.from({ length: n }, (_, at) => entryOf(biometric, { row: at }))
    const errors = entries.map(({ transactionId }, at) => ({ message: `no ${at}`, transactionId }))
    return () => matchAnswer(entries, { echoes: [], errors }, () => undefined)
  }),
  'an answer whose errors name none': pure(500, (n) => {
    const entries = Array.from({ length: n }, (_, at) => entryOf(biometric, { row: at }))
    const errors = entries.map((_, at) => ({ message: `no ${at}` }))
    return () => matchAnswer(entries, { echoes: [], errors }, () => undefined)
  }),
  'a word that nobody knows': pure(3_000, (n) => {
    const known = Array.from({ length: n }, (_, at) => `word ${at}`)
    return () => didYouMean('wrod', known)
  }),
  'a long word that nobody knows': pure(3_000, (n) => () => didYouMean('w'.repeat(n), ['x'.repeat(n)])),
  'two long words that are compared': pure(500, (n) => () => leven('xy'.repeat(n), 'ab'.repeat(n))),
  'a list in which each is looked for': pure(2_000, (n) => {
    const all = Array.from({ length: n }, (_, at) => at)
    return () => all.filter((one) => all.includes(-one))
  }),
}

/** To see that the counter counts. */
export const SUPERLINEAR: readonly string[] = [
  'two long words that are compared',
  'a list in which each is looked for',
]
