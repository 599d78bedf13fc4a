import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { readJob } from '../../src/job/definition-files.ts'
import { dryRun } from '../../src/job/dry-run.ts'
import { JobDefinition } from '../../src/job/job-definition.ts'
import { createIdentity } from '../../src/load/identity.ts'
import { parseYaml } from '../../src/yaml-file.ts'
import { load } from '../transform/mapping-under-test.ts'
import { blocks, PROJECT, page } from './pages.ts'

const Keys = z.record(z.string(), z.unknown())

const examples = blocks(page('docs/mapping.md'), 'yaml')
const whole = Keys.parse(parse(examples[0] ?? ''))

/** An example that is not whole, read as if its parts stood in the first one. */
function completed(example: string): string {
  const part = Keys.parse(parse(example))
  if ('mapping' in part) return example
  const row = { ...Keys.parse(whole['row']), ...Keys.parse(part['row'] ?? {}) }
  return stringify({ ...whole, ...part, row })
}

describe('docs/mapping.md', () => {
  it('teaches with whole mappings and parts of them', () => {
    expect(examples.length).toBeGreaterThan(7)
    expect(whole).toHaveProperty('mapping')
  })

  it.each(examples.map((example) => ({ example, first: example.split('\n')[1]?.trim() ?? '' })))(
    'compiles: $first',
    ({ example }) => {
      expect(load(completed(example)).name).toMatch(/^my-/)
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
    const folders = { jobs: join(PROJECT, 'jobs'), mappings: join(PROJECT, 'mappings') }
    const job = await readJob(folders, 'nightly-screenings')
    const options = { files: [], limit: Number.POSITIVE_INFINITY }
    const { rows, records } = await dryRun(
      folders,
      job,
      createIdentity('0123456789abcdef'),
      options,
      Date.now(),
    )
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
    expect(text).toContain(`| ${rejected} records rejected by the mapping |`)
  })
})
