import { describe, expect, it } from 'vitest'
import { RegistrationRequest } from '../../src/gateway/contract/account.ts'
import { csvMapper, faults, jsonMapper, mapped, ORIGIN } from './mapping-under-test.ts'

const ROW = `
mapping: rows
read: { format: csv }
row:
  key: [id, visit]
  account:
    reference: { from: id, emptyWhen: [N/A] }
    register:
      firstName: first
      lastName: last
      dateOfBirth: { from: born, format: [yyyy-MM-dd, MM/dd/yyyy] }
      gender: { from: sex, table: { F: FEMALE, 1: MALE } }
      postalCode: zip
  observedAt: { from: at, format: MM/dd/yyyy HH:mm, zone: America/New_York, emptyWhen: ["00/00/0000 00:00"] }
  source: { name: N, type: t }
  skipWhen: { no_show: [Y, "1"], reason: present }
biometrics: { bmi: bmi }
`
const COLUMNS = ['id', 'visit', 'first', 'last', 'born', 'sex', 'zip', 'at', 'no_show', 'reason', 'bmi']
const map = csvMapper(ROW, COLUMNS)
const mapOther = csvMapper(ROW.replace('{ from: id, emptyWhen: [N/A] }', 'who'), [...COLUMNS, 'who'])
const BASE = {
  id: 'P1',
  visit: 'V1',
  at: '02/04/2026 09:10',
  first: 'Ann',
  last: 'Reed',
  born: '05/01/1980',
  sex: 'F',
  zip: '04901',
}

describe('a row', () => {
  it('has its key, its account and its origin', () => {
    expect(mapped(map(BASE))).toMatchObject({
      ...ORIGIN,
      key: 'P1|V1',
      account: { reference: 'P1', type: 'partnerAccountId' },
    })
    expect(mapped(map({ ...BASE, visit: '' })).key).toBe('P1|')
  })

  it('keeps keys apart whose parts have the mark between parts', () => {
    const keys = [
      ['P|1', 'V'],
      ['P', '1|V'],
      ['P|1|V', ''],
      ['', 'P|1|V'],
      ['P', '1|V\n1,3'],
    ].map(([id = '', visit = '']) => mapOther({ ...BASE, id, visit, who: 'P1' }))
    expect(new Set(keys.map((row) => mapped(row).key)).size).toBe(5)
  })

  it('is skipped where all lines of skipWhen hold, before anything is asked of it', () => {
    const why = { reason: 'skipWhen', leftOut: ['skipWhen'] }
    const skipped = { ...ORIGIN, outcome: 'skipped', ...why, warnings: [] }
    expect(map({ no_show: 'Y', reason: 'ill' })).toEqual(skipped)
    expect(map({ ...BASE, no_show: '1', reason: 'ill' })).toEqual(skipped)
    expect(map({ ...BASE, no_show: 'Y' }).outcome).toBe('mapped')
    expect(map({ ...BASE, no_show: 'N', reason: 'ill' }).outcome).toBe('mapped')
  })

  it.each([
    [{ id: '' }, 'row: account-missing id'],
    [{ id: ' N/A ' }, 'row: account-missing id'],
    [{ at: '' }, 'row: date-missing at'],
    [{ at: '00/00/0000 00:00' }, 'row: date-missing at'],
    [{ at: '13/45/2026 09:10' }, 'row: date-invalid at'],
    [{ at: '03/08/2026 02:30' }, 'row: date-skipped-by-daylight-saving at'],
    [{ at: '11/01/2026 01:30' }, 'row: date-doubled-by-daylight-saving at'],
    [{ at: '01/01/0000 00:00' }, 'row: date-too-early at'],
  ])('%j is refused: %s', (cells, fault) => {
    const outcome = map({ ...BASE, ...cells })
    expect(outcome).toMatchObject({ ...ORIGIN, outcome: 'rejected', issue: { stage: 'transform' } })
    expect(faults(outcome)).toEqual([fault])
  })

  it('of which every part of the key is empty, or is no single value, is refused', () => {
    const keyed = jsonMapper(`
mapping: keyed
read: { format: ndjson }
row: { key: [$.a, $.b], account: { reference: $.id }, observedAt: { constant: "2026-01-01T00:00:00Z" }, source: { name: N, type: t } }
biometrics: { bmi: $.bmi }
`)
    expect(faults(keyed({ id: '1' }))).toEqual(['row: key-missing $.a'])
    expect(faults(keyed({ id: '1', a: 'x', b: ['y'] }))).toEqual(['row: field-not-scalar $.b'])
    expect(faults(keyed({ id: {}, a: 'x' }))).toEqual(['row: field-not-scalar $.id'])
    expect(faults(keyed(null))).toEqual(['row: account-missing $.id'])
    expect(mapped(keyed({ id: '1', a: 'x' })).key).toBe('x|')
  })
})

describe('registration', () => {
  it('is what the interface asks for', () => {
    const draft = mapped(map(BASE)).register()
    expect(draft).toEqual({
      ok: true,
      registration: {
        partnerAccountId: 'P1',
        firstName: 'Ann',
        lastName: 'Reed',
        dateOfBirth: '1980-05-01',
        gender: 'FEMALE',
        postalCode: '04901',
      },
    })
    expect(RegistrationRequest.safeParse(draft?.ok === true ? draft.registration : undefined).success).toBe(
      true,
    )
    expect(mapped(map({ ...BASE, sex: '1' })).register()).toMatchObject({ registration: { gender: 'MALE' } })
  })

  it.each([
    [{ first: '' }, 'registration-incomplete', 'first'],
    [{ last: ' ' }, 'registration-incomplete', 'last'],
    [{ zip: '' }, 'registration-incomplete', 'zip'],
    [{ born: '' }, 'registration-incomplete', 'born'],
    [{ born: '1980-02-30' }, 'registration-date-invalid', 'born'],
    [{ sex: '' }, 'registration-incomplete', 'sex'],
    [{ first: 'N/A' }, 'registration-incomplete', 'first'],
    [{ first: 'NULL' }, 'registration-incomplete', 'first'],
    [{ last: 'unknown' }, 'registration-incomplete', 'last'],
    [{ last: '-' }, 'registration-incomplete', 'last'],
    [{ last: '17' }, 'registration-incomplete', 'last'],
    [{ zip: 'none' }, 'registration-incomplete', 'zip'],
    [{ zip: '--' }, 'registration-incomplete', 'zip'],
    // é, í, É, à and ñ in UTF-8, read as windows-1252.
    [{ last: 'JosÃ©' }, 'registration-damaged', 'last'],
    [{ last: 'GarcÃ\u00ada' }, 'registration-damaged', 'last'],
    [{ last: 'Ã‰mile' }, 'registration-damaged', 'last'],
    [{ first: 'NuÃ±ez' }, 'registration-damaged', 'first'],
    [{ last: 'Garc?a' }, 'registration-damaged', 'last'],
    [{ last: 'Garc\ufffda' }, 'registration-damaged', 'last'],
    [{ last: 'O&#39;Brien' }, 'registration-damaged', 'last'],
    [{ last: 'Re\0ed' }, 'registration-damaged', 'last'],
    [{ zip: '4901.0' }, 'registration-damaged', 'zip'],
    [{ zip: '="04901"' }, 'registration-damaged', 'zip'],
    [{ zip: "'04901" }, 'registration-damaged', 'zip'],
    [{ sex: 'X' }, 'registration-value-not-in-table', 'sex'],
  ])('%j cannot be made: %s %s', (cells, code, field) => {
    const outcome = mapped(map({ ...BASE, ...cells }))
    expect(outcome.register()).toMatchObject({ ok: false, issue: { stage: 'transform', code, field } })
  })

  it.each([
    ...['Nan', 'Na', 'Null', 'Max', 'N.A.', "O'Brien", 'Smith-Jones', 'João', 'ÂNGELA', 'GALVÃO', '李'].map(
      (last) => ({ last }),
    ),
    ...['04901-1234', 'SW1A 1AA', '8001', '00000'].map((zip) => ({ zip })),
  ])('%j is made', (cells) => {
    expect(mapped(map({ ...BASE, ...cells })).register()?.ok).toBe(true)
  })

  it('is not judged without the check of damage', () => {
    const unchecked = csvMapper(
      ROW.replace('  skipWhen', '  checks: { damaged-key: off }\n  skipWhen'),
      COLUMNS,
    )
    expect(mapped(unchecked({ ...BASE, last: 'N/A', zip: '4901.0' })).register()).toMatchObject({
      registration: { lastName: 'N/A', postalCode: '4901.0' },
    })
  })

  it('is not made where the mapping has none', () => {
    const without = csvMapper(ROW.replace(/ {4}register:[\s\S]*? {2}observedAt/, '  observedAt'), COLUMNS)
    expect(mapped(without(BASE)).register()).toBeUndefined()
  })
})
