import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseCases, runCases, textReader, updateCases } from '../../packages/mapping-tools/src/run-cases.ts'
import { createApplication } from '../../src/application.ts'
import { JobDefinition } from '../../src/definitions/job-definition.ts'
import { tryRun } from '../../src/runs/actions.ts'
import { readSettings } from '../../src/system/settings.ts'
import { parseYaml } from '../../src/system/yaml-file.ts'
import { load } from '../transform/mapping-under-test.ts'
import { caseExamples, mappingExamples, results } from './mapping-examples.ts'
import { blocks, PROJECT, page } from './pages.ts'

/** Each example of the language with the rows that follow it. */
const examples = mappingExamples(page('docs/mapping.md'))

describe('docs/mapping.md', () => {
  it('teaches with whole mappings and parts of them, nearly all with rows', () => {
    expect(examples.length).toBeGreaterThan(12)
    expect(examples.filter(({ rows }) => rows.length > 0).length).toBeGreaterThan(12)
  })

  it.each(examples)('compiles: $first', ({ load }) => {
    expect(load().name).toMatch(/^my-/)
  })

  const rows = examples.flatMap(({ rows, map, first }) => rows.map((row) => ({ ...row, map, first })))
  it.each(rows)('$first — $line', ({ map, source, expected }) => {
    const told = results(map(source))
    expect(told).toHaveLength(expected.length)
    for (const [at, { name, facts }] of expected.entries()) {
      expect(told[at]?.name).toBe(name)
      for (const fact of facts) expect(told[at]?.facts).toContain(fact)
    }
  })

  it.each(caseExamples(page('docs/mapping.md')))(
    'shows cases that come out so',
    async ({ mapping, cases }) => {
      const { compiled, read } = load(mapping)
      const results = await runCases(compiled, parseCases(cases, 'docs/mapping.md').value, textReader(read))
      expect(results.length).toBeGreaterThan(1)
      for (const { found, expected } of results) expect(found).toEqual(expected)
      expect(updateCases(cases, results)).toBe(cases)
    },
  )
})

describe('docs/jobs.md', () => {
  it.each(blocks(page('docs/jobs.md'), 'yaml').map((example) => ({ example, name: example.split('\n')[0] })))(
    '$name',
    ({ example }) => {
      const { value } = parseYaml(example, 'docs/jobs.md', JobDefinition, 'job-invalid')
      for (const { mapping = value.mapping } of value.exports) {
        expect(existsSync(join(PROJECT, 'mappings', `${mapping}.yaml`))).toBe(true)
      }
    },
  )

  it('has every key of a job, and no other', () => {
    const told = [...page('docs/jobs.md').matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, key = '']) => key),
    )
    const top = new Set(told.map((key) => key.split('.')[0]))
    expect([...top].sort()).toEqual(Object.keys(JobDefinition.shape).sort())
  })
})

describe('the README', () => {
  it('shows the rows and records that the samples give', async () => {
    const settings = readSettings({ WAYBILL_HOME: 'no-home' }, PROJECT, 'ignored')
    const application = createApplication('0', settings, () => {}, new AbortController().signal)
    const options = { files: [], limit: Number.POSITIVE_INFINITY, acceptDrift: false }
    const { rows, records } = await tryRun(application, 'nightly-screenings', options)
    const n = (count: number): string => count.toLocaleString('en-US')
    const text = page('README.md')
    expect(text).toContain(
      `Rows     read ${n(rows.read)} = mapped ${n(rows.mapped)} + skipped ${n(rows.skipped)} + rejected ${n(rows.rejected)}`,
    )
    for (const [name, kind] of [
      ['biometrics', 'biometric'],
      ['conditions', 'condition'],
      ['care teams', 'careTeam'],
    ] as const) {
      expect(text).toMatch(new RegExp(`^ ${name} +${n(records[kind].made)} `, 'm'))
    }
    const rejected = Object.values(records).reduce((sum, kind) => sum + kind.rejected, 0)
    expect(page('samples/README.md')).toContain(`| ${rejected} records rejected by the mapping |`)
  })
})
