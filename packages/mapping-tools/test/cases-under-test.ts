/** Runs cases given as text against a mapping given as text. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load, ROOT } from '../../../test/transform/mapping-under-test.ts'
import { type CaseResult, parseCases, runCases, textReader } from '../src/run-cases.ts'

export const shipped = (file: string): string => readFileSync(join(ROOT, 'mappings', file), 'utf8')

export function run(mapping: string, cases: string): Promise<CaseResult[]> {
  const { compiled, read } = load(mapping)
  return runCases(compiled, parseCases(cases, 'tested.cases.yaml').value, textReader(read))
}

export const failed = async (mapping: string, cases: string): Promise<string[]> =>
  (await run(mapping, cases)).filter(({ passed }) => !passed).map(({ name }) => name)

/** A mapping of three rules, for rows of a, b, c. */
export const SMALL = `
mapping: small
read: { format: csv }
row:
  key: [id]
  account: { reference: id }
  observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }
  source: { name: Small, type: screening }
  skipWhen: { gone: Y }
biometrics:
  heart-rate: pulse
  body-weight: { from: weight, refRange: normal, observedAt: { from: weighed, format: yyyy-MM-dd, zone: UTC } }
conditions:
  asthma: { when: { asthma: Y }, status: { from: state } }
`
