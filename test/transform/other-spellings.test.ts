/** A word of the mapping that the export spells otherwise is never passed over in silence: in no format, and in no list of words. */
import { describe, expect, it } from 'vitest'
import { faults, jsonMapper, mapped } from './mapping-under-test.ts'

const ROW = `mapping: tried
read: { format: ndjson }
row:
  key: [$.id]
  account: { reference: $.id }
  observedAt: { from: $.day, format: ISO, zone: UTC }
  source: { name: Tried, type: screening }
  skipWhen: { $.void: Y }
`

describe('a flag of a JSON row', () => {
  const read = jsonMapper(`${ROW}conditions:
  hypertension: { when: { $.htn: [Y, "1"] }, status: active }
`)
  const of = (row: Readonly<Record<string, unknown>>) => read({ id: 'a', day: '2026-03-02', ...row } as never)

  it.each([
    ['Y', ['hypertension'], []],
    ['1', ['hypertension'], []],
    ['y', [], ['hypertension: spelling-unlisted $.htn']],
    [true, [], ['hypertension: spelling-unlisted $.htn']],
    ['Yes', [], ['hypertension: spelling-unlisted $.htn']],
    ['1.0', [], ['hypertension: spelling-unlisted $.htn']],
    ['Wahr', [], ['hypertension: spelling-unlisted $.htn']],
    ['VRAI', [], ['hypertension: spelling-unlisted $.htn']],
    ['☑', [], ['hypertension: spelling-unlisted $.htn']],
    ['\uff11', [], ['hypertension: spelling-unlisted $.htn']],
    ['faux', [], []],
    ['N', [], []],
    [false, [], []],
    [null, [], []],
    [['Y'], [], []],
  ])('%j makes %j, and rejects %j', (htn, made, rejected) => {
    const outcome = of({ htn })
    expect(mapped(outcome).records.map(({ rule }) => rule)).toEqual(made)
    expect(faults(outcome)).toEqual(rejected)
  })

  it('decides about the row in skipWhen', () => {
    expect(of({ htn: 'Y', void: 'Y' }).outcome).toBe('skipped')
    expect(faults(of({ htn: 'Y', void: 'y' }))).toEqual(['row: spelling-unlisted $.void'])
    expect(faults(of({ htn: 'Y', void: true }))).toEqual(['row: spelling-unlisted $.void'])
  })
})

describe('a word that the mapping lists', () => {
  const read = jsonMapper(`${ROW}biometrics:
  - code: { from: $.code, table: { GLU: glucose }, unknown: skip }
    value: $.value
    unit: { constant: mg/dL }
    status: { from: $.state, keep: [final, amended], withdrawn: [cancelled] }
conditions:
  - { when: { $.dx: present }, code: { from: $.dx, table: { HTN: hypertension } }, status: { from: $.how, table: { A: active }, otherwise: other } }
`)
  const of = (row: Readonly<Record<string, unknown>>) =>
    read({ id: 'a', day: '2026-03-02', value: '90', state: 'final', code: 'GLU', ...row } as never)

  it.each([
    [{ state: 'Final' }, 'unmapped-1: spelling-unlisted $.state'],
    [{ state: 'CANCELLED' }, 'unmapped-1: spelling-unlisted $.state'],
    [{ code: 'glu' }, 'unmapped-1: spelling-unlisted $.code'],
    [{ dx: 'HTN', how: 'a' }, 'hypertension-1: spelling-unlisted $.how'],
  ])('%j is rejected: %s', (row, fault) => {
    expect(faults(of(row))).toEqual([fault])
  })

  it.each([
    [{ state: 'preliminary' }, 'status'],
    [{ code: 'GLU2' }, 'code GLU2'],
  ])('%j is another word, and is left out', (row, why) => {
    const outcome = of(row)
    expect(outcome.outcome === 'skipped' ? outcome.leftOut : []).toContain(why)
  })

  it('is taken as listed, and another word as `otherwise`', () => {
    const statuses = ['A', 'R'].map((how) =>
      mapped(of({ dx: 'HTN', how }))
        .records.at(-1)
        ?.texts.join(),
    )
    expect(statuses[0]).toContain('active')
    expect(statuses[1]).toContain('other')
  })
})
