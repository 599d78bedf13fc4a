/** What is wrong in a rule is told with the place of the part in its mapping. */
import { expect, it } from 'vitest'
import { findings, NESTED } from './mapping-under-test.ts'

const LONG = {
  code: '{ from: obx.code, system: LOINC }',
  value: 'obx.v',
  unit: '{ from: obx.u }',
  refRange: 'obx.r',
  refLow: 'obx.low',
  refHigh: 'obx.high',
  refUnit: 'obx.ru',
  when: '{ obx.w: y }',
  observedAt: '{ from: obx.at, format: ISO, zone: UTC }',
  status: '{ from: obx.s, keep: [F], withdrawn: [W] }',
}
const rule = (part: string, written: string): string =>
  `biometrics:\n  - { ${Object.entries({ ...LONG, [part]: written })
    .map(([key, own]) => `${key}: ${own}`)
    .join(', ')} }\n`

it.each(Object.entries(LONG))('%s of a level that is not there', (part, written) => {
  const found = findings(NESTED + rule(part, written.replace('obx.', 'obs.')))
  expect(found).toEqual([expect.stringMatching(`^\\d+ biometrics\\[0\\]\\.${part}\\b`)])
})

it('a state that is both kept and withdrawn', () => {
  expect(findings(NESTED + rule('status', '{ from: obx.s, keep: [F, P], withdrawn: [W, P] }'))).toEqual([
    expect.stringMatching(/^\d+ biometrics\[0\]\.status\.withdrawn: "P" is under keep, too/),
  ])
})
