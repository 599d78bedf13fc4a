import { describe, expect, test } from 'vitest'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { ANN, BEN, GOOD, HEADER, openClinic, rejectsOf } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

interface BadRow {
  readonly row: string | Buffer
  /** `[<rule>] <code>`; none: nothing of it is wrong. */
  readonly reject?: string
  /** Stored beside GOOD. */
  readonly stored?: readonly string[]
}

const BAD_CSV: readonly BadRow[] = [
  { row: 'c1,2026-03-02,63\n', reject: 'row-too-short' },
  { row: 'c2,2026-03-02,63,5.3,72,kg,a,b\n', reject: 'row-too-long' },
  { row: 'c3,2026-03-02,63,5.3,72,kg,6"2\n', reject: 'row-quote-broken' },
  {
    row: Buffer.from('c4,2026-03-02,63,5.3,72,kg,caf\u00e9\n', 'latin1'),
    reject: 'row-encoding-invalid',
  },
  { row: 'c5,2026-03-02,fast,5.3,,,\n', reject: 'heart-rate value-not-a-number', stored: ['c5 hba1c 5.3'] },
  { row: 'c6,2026-03-02,630,5.3,,,\n', reject: 'heart-rate value-out-of-range', stored: ['c6 hba1c 5.3'] },
  {
    row: 'c7,2026-03-02,63,5.3,11,stone-ish,\n',
    reject: 'body-weight unit-unknown',
    stored: ['c7 hba1c 5.3', 'c7 heart-rate 63'],
  },
  {
    row: 'c8,2026-03-02,63,5.3,11,cm,\n',
    reject: 'body-weight unit-mismatch',
    stored: ['c8 hba1c 5.3', 'c8 heart-rate 63'],
  },
  { row: 'c9,2026-02-30,63,5.3,,,\n', reject: 'date-invalid' },
  { row: 'c10,,63,,,,\n', reject: 'date-missing' },
  { row: ',2026-03-02,63,5.3,,,\n', reject: 'account-missing' },
  // Empty cells are not 0.
  { row: 'c11,2026-03-02,, ,,,\n' },
  { row: 'c12,2026-03-02,63,5.3,72,kg,"tall\n', reject: 'row-quote-not-closed' },
]

const json = (id: string, day: string, values: string): string => `{"id":${id},"day":"${day}",${values}}\n`
const ANN_JSON = json('"ann"', '2026-03-02', '"pulse":61,"a1c":5.1,"weight":70.5,"unit":"kg"')
const BEN_JSON = json('"ben"', '2026-03-02', '"pulse":62,"a1c":5.2,"weight":71.5,"unit":"kg"')

const BAD_JSON: readonly BadRow[] = [
  { row: '{"id":"c1","day":\n', reject: 'row-json-invalid' },
  { row: json('"c2"', '2026-03-02', '"pulse":63,"pulse":64'), reject: 'row-json-invalid' },
  // Null is not 0.
  { row: json('"c3"', '2026-03-02', '"pulse":null') },
  { row: json('"c4"', '2026-03-02', '"pulse":{"is":63}'), reject: 'heart-rate field-not-scalar' },
]

/** Between two good rows; the first line is behind the header, if there is one, and the first good row. */
const fileOf = (first: string, bad: readonly BadRow[], last: string): Buffer =>
  Buffer.concat([first, ...bad.map(({ row }) => row), last].map((part) => Buffer.from(part)))

describe('what is wrong with a row costs that row, or that value, alone', () => {
  test.each([
    { file: 'day.csv', content: fileOf(HEADER + ANN, BAD_CSV, BEN), bad: BAD_CSV, firstLine: 3 },
    { file: 'day.ndjson', content: fileOf(ANN_JSON, BAD_JSON, BEN_JSON), bad: BAD_JSON, firstLine: 2 },
  ])('$file', async ({ file, content, bad, firstLine }) => {
    const clinic = await openClinic()
    await clinic.deliver(file, content)
    const { code, out, err } = await clinic.run()
    const summary = summaryOf({ code, out, err })
    expect(summary).toMatchObject({ state: 'finished', balanced: true })
    expect(code).toBe(1)
    expect(await rejectsOf(summary)).toEqual(
      bad.flatMap(({ reject }, at) => (reject === undefined ? [] : [`line ${firstLine + at} ${reject}`])),
    )
    expect(await clinic.stored()).toEqual([...GOOD, ...bad.flatMap(({ stored = [] }) => stored)].sort())
  })

  test.each([
    { what: 'a byte order mark', file: 'day.csv', content: `\ufeff${HEADER}${ANN}${BEN}` },
    {
      what: 'lines that end in CR LF',
      file: 'day.csv',
      content: `${HEADER}${ANN}${BEN}`.replaceAll('\n', '\r\n'),
    },
    {
      what: 'a last line cut off within a cell',
      file: 'day.csv',
      content: `${HEADER}${ANN}${BEN}cid,2026-03-02,6`,
      rejects: ['line 4 row-too-short'],
    },
    {
      what: 'a last line cut off',
      file: 'day.ndjson',
      content: `${ANN_JSON}${BEN_JSON}{"id":"cid","da`,
      rejects: ['line 3 row-json-invalid'],
    },
  ])('$file: $what', async ({ file, content, rejects = [] }) => {
    const clinic = await openClinic()
    await clinic.deliver(file, content)
    const ended = await clinic.run()
    expect(ended.code).toBe(rejects.length === 0 ? 0 : 1)
    expect(await rejectsOf(summaryOf(ended))).toEqual(rejects)
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test.each([
    { file: 'day.csv', content: `${HEADER}12345678901234567890,2026-03-02,61,5.10,,,\n` },
    { file: 'day.ndjson', content: json('12345678901234567890', '2026-03-02', '"pulse":61,"a1c":5.10') },
  ])('$file: an id of 20 digits and 5.10 go out digit by digit', async ({ file, content }) => {
    const store = await startReferenceStore({ open: true })
    const proxy = await startFaultProxy(store.url, () => PASS)
    const clinic = await openClinic({ store, environment: gatewaySettings(proxy.url) })
    await clinic.deliver(file, content)
    expect((await clinic.run()).code).toBe(0)
    const [body = ''] = proxy.seen.flatMap((request) => (request.method === 'POST' ? [request.body] : []))
    expect(body).toContain('"account":{"reference":"12345678901234567890","type":"partnerAccountId"}')
    expect(body).toContain('"value":5.10,')
    expect((await store.records('biometric')).map(({ _account }) => _account)).toEqual(
      Array(2).fill('12345678901234567890'),
    )
  })
})
