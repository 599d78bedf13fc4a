import { describe, expect, test } from 'vitest'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { ANN, BEN, between, GOOD, HEADER, openClinic, rejectsOf } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

interface BadRow {
  readonly what: string
  readonly content: string | Buffer
  /** `line <n> [<rule>] <code>`; none: exit 0. */
  readonly rejects: readonly string[]
  /** Stored beside GOOD. */
  readonly more?: readonly string[]
}

const BAD_CSV: readonly BadRow[] = [
  { what: 'a row too short', content: between('cid,2026-03-02,63\n'), rejects: ['line 3 row-too-short'] },
  {
    what: 'a row too long',
    content: between('cid,2026-03-02,63,5.3,72,kg,a,b\n'),
    rejects: ['line 3 row-too-long'],
  },
  {
    what: 'a quote inside a cell',
    content: between('cid,2026-03-02,63,5.3,72,kg,6"2\n'),
    rejects: ['line 3 row-quote-broken'],
  },
  {
    what: 'a quote that is never closed',
    content: between('cid,2026-03-02,63,5.3,72,kg,"tall\n'),
    rejects: ['line 3 row-quote-not-closed'],
  },
  {
    what: 'a last line cut off within a cell',
    content: `${HEADER}${ANN}${BEN}cid,2026-03-02,6`,
    rejects: ['line 4 row-too-short'],
  },
  { what: 'a byte order mark', content: `\ufeff${HEADER}${ANN}${BEN}`, rejects: [] },
  { what: 'lines that end in CR LF', content: `${HEADER}${ANN}${BEN}`.replaceAll('\n', '\r\n'), rejects: [] },
  {
    what: 'a row that is not UTF-8',
    content: Buffer.from(between('cid,2026-03-02,63,5.3,72,kg,caf\u00e9\n'), 'latin1'),
    rejects: ['line 3 row-encoding-invalid'],
  },
  {
    what: 'a value that is no number',
    content: between('cid,2026-03-02,fast,5.3,,,\n'),
    rejects: ['line 3 heart-rate value-not-a-number'],
    more: ['cid hba1c 5.3'],
  },
  {
    what: 'a value out of range',
    content: between('cid,2026-03-02,630,5.3,,,\n'),
    rejects: ['line 3 heart-rate value-out-of-range'],
    more: ['cid hba1c 5.3'],
  },
  {
    what: 'an unknown unit',
    content: between('cid,2026-03-02,63,5.3,11,stone-ish,\n'),
    rejects: ['line 3 body-weight unit-unknown'],
    more: ['cid hba1c 5.3', 'cid heart-rate 63'],
  },
  {
    what: 'a unit of another kind',
    content: between('cid,2026-03-02,63,5.3,11,cm,\n'),
    rejects: ['line 3 body-weight unit-mismatch'],
    more: ['cid hba1c 5.3', 'cid heart-rate 63'],
  },
  {
    what: 'a date that does not exist',
    content: between('cid,2026-02-30,63,5.3,,,\n'),
    rejects: ['line 3 date-invalid'],
  },
  { what: 'no date', content: between('cid,,63,,,,\n'), rejects: ['line 3 date-missing'] },
  { what: 'nobody', content: between(',2026-03-02,63,5.3,,,\n'), rejects: ['line 3 account-missing'] },
  { what: 'empty cells, which are not 0', content: between('cid,2026-03-02,, ,,,\n'), rejects: [] },
]

const json = (id: string, day: string, values: string): string => `{"id":${id},"day":"${day}",${values}}\n`
const ANN_JSON = json('"ann"', '2026-03-02', '"pulse":61,"a1c":5.1,"weight":70.5,"unit":"kg"')
const BEN_JSON = json('"ben"', '2026-03-02', '"pulse":62,"a1c":5.2,"weight":71.5,"unit":"kg"')

const BAD_JSON: readonly BadRow[] = [
  {
    what: 'a line that is no JSON',
    content: `${ANN_JSON}{"id":"cid","day":\n${BEN_JSON}`,
    rejects: ['line 2 row-json-invalid'],
  },
  {
    what: 'a last line cut off',
    content: `${ANN_JSON}${BEN_JSON}{"id":"cid","da`,
    rejects: ['line 3 row-json-invalid'],
  },
  {
    what: 'a key twice',
    content: `${ANN_JSON}${json('"cid"', '2026-03-02', '"pulse":63,"pulse":64')}${BEN_JSON}`,
    rejects: ['line 2 row-json-invalid'],
  },
  {
    what: 'null and nothing, which are not 0',
    content: `${ANN_JSON}${json('"cid"', '2026-03-02', '"pulse":null')}${BEN_JSON}`,
    rejects: [],
  },
  {
    what: 'an object for a value',
    content: `${ANN_JSON}${json('"cid"', '2026-03-02', '"pulse":{"is":63}')}${BEN_JSON}`,
    rejects: ['line 2 heart-rate field-not-scalar'],
  },
]

describe('what is wrong with a row costs that row, or that value, alone', () => {
  const cases = [
    ...BAD_CSV.map((one) => ({ ...one, file: 'day.csv' })),
    ...BAD_JSON.map((one) => ({ ...one, file: 'day.ndjson' })),
  ]
  test.each(cases)('$file: $what', async ({ file, content, rejects, more = [] }) => {
    const clinic = await openClinic()
    await clinic.deliver(file, content)
    const { code, out, err } = await clinic.run()
    const summary = summaryOf({ code, out, err })
    expect(summary).toMatchObject({ state: 'finished', balanced: true })
    expect(code).toBe(rejects.length === 0 ? 0 : 1)
    expect(await rejectsOf(summary)).toEqual(rejects)
    expect(await clinic.stored()).toEqual([...GOOD, ...more].sort())
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
    const [body = ''] = proxy.seen.map((request) => request.body)
    expect(body).toContain('"account":{"reference":"12345678901234567890","type":"partnerAccountId"}')
    expect(body).toContain('"value":5.10,')
    expect((await store.records('biometric')).map(({ _account }) => _account)).toEqual(
      Array(2).fill('12345678901234567890'),
    )
  })
})
