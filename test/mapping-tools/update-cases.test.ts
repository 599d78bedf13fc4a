import { describe, expect, it } from 'vitest'
import { updateCases } from '../../src/mapping-tools/run-cases.ts'
import { run, SMALL } from './cases-under-test.ts'

const update = async (mapping: string, cases: string): Promise<string> =>
  updateCases(cases, await run(mapping, cases))

const ROW = '    row: { id: P-1, day: 2026-01-02, pulse: 60.0 }'

describe('what --update writes', () => {
  it('is what came out, with what is the same in all records told once', async () => {
    const cases = `cases:\n  - name: one\n${ROW}\n  - name: gone\n    row: { gone: Y }\n`
    expect(await update(SMALL, cases)).toBe(`cases:
  - name: one
${ROW}
    outcome: mapped
    key: P-1
    account: P-1
    observedAt: 2026-01-02T00:00:00.000Z
    records:
      heart-rate: 60.0 /min
  - name: gone
    row: { gone: Y }
    outcome: skipped
    reason: skipWhen

# What every record above has besides.
always:
  accountType: partnerAccountId
  source: Small
  sourceType: screening

# And what those of a rule are sent as.
rules:
  heart-rate: { name: Heart rate, code: LOINC 8867-4, type: Observation }
`)
  })

  it('passes afterwards, and is written the same again', async () => {
    const row =
      'id: P-1, day: 2026-01-02, pulse: 60, weight: 80, normal: 60-90, weighed: 2026-01-01, asthma: Y, state: active'
    const once = await update(SMALL, `cases:\n  - name: all\n    row: { ${row} }\n`)
    expect(once).toContain(
      'body-weight: { value: 80 kg, observedAt: 2026-01-01T00:00:00.000Z, refHigh: 90, refLow: 60, refRange: 60-90 }',
    )
    expect(once).toContain('      asthma: active\n')
    expect((await run(SMALL, once)).map(({ passed }) => passed)).toEqual([true])
    expect(await update(SMALL, once)).toBe(once)
  })

  it('keeps comments and order, and changes nothing but what changed', async () => {
    const first = await update(SMALL, `cases:\n  - name: one\n${ROW}\n`)
    const kept = first
      .replace('cases:', '# Ours.\ncases:\n  # The first.')
      .replace('    records:', '    # In New York.\n    records:')
      .replace('      heart-rate: 60.0 /min', '      heart-rate: 60.0 /min # at rest')
    const other = SMALL.replace('type: screening', 'type: visit').replace(
      'zone: UTC',
      'zone: America/New_York',
    )
    expect(await update(other, kept)).toBe(
      kept.replace('sourceType: screening', 'sourceType: visit').replace('02T00:00', '02T05:00'),
    )
  })

  it('tells with the record what is not the same in all of them', async () => {
    const both = `cases:\n  - name: one\n${ROW}\n  - name: two\n    row: { id: P-2, day: 2026-01-02, psa: <0.1 }\n`
    const mapping = SMALL.replace(
      '  heart-rate: pulse',
      '  heart-rate: pulse\n  psa: { from: psa, comparators: limit }',
    )
    const written = await update(mapping, both)
    expect(written).toContain('psa: { value: 0.1 ng/mL, notes: reported as <0.1 }')
    expect((await run(mapping, written)).every(({ passed }) => passed)).toBe(true)
  })

  it('puts records into the order in which they are made', async () => {
    const row = 'row: { id: P-1, day: 2026-01-02, pulse: 60, weight: 80, weighed: 2026-01-02 }'
    const wrong = `cases:\n  - name: one\n    ${row}\n    records:\n      body-weight: 1 kg\n      heart-rate: 60 /min\n`
    const written = await update(SMALL, wrong)
    expect(written.indexOf('heart-rate: 60')).toBeLessThan(written.indexOf('body-weight: 80 kg'))
  })
})
