import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  keepGiven,
  parseCases,
  runCases,
  textReader,
  updateCases,
} from '../../packages/mapping-tools/src/run-cases.ts'
import { definitionsIn, readMapping } from '../../src/definitions/definition-files.ts'
import { ROOT } from '../transform/mapping-under-test.ts'

const mappings = join(ROOT, 'mappings')
const folders = { jobs: join(ROOT, 'jobs'), mappings }
const casesOf = (name: string): string => join(mappings, `${name}.cases.yaml`)
const withCases = (await definitionsIn(mappings)).filter((name) => existsSync(casesOf(name)))

describe('the cases of the shipped mappings', () => {
  it('are there, for every mapping', async () => {
    expect(withCases.length).toBeGreaterThan(10)
    expect(withCases).toEqual(await definitionsIn(mappings))
  })

  it('are no mappings themselves', async () => {
    expect(await definitionsIn(mappings)).not.toContain('acme-onsite.cases')
  })

  it.each(withCases)('of %s come out as they say, and leave --update nothing to write', async (name) => {
    const text = readFileSync(casesOf(name), 'utf8')
    const mapping = await readMapping(folders, name)
    const { value } = parseCases(text, name)
    const { compiled } =
      mapping.joins.length === 0
        ? mapping
        : mapping.withJoins({}, keepGiven(mapping.joins, value.joins ?? {}, name))
    const results = await runCases(compiled, value, textReader(mapping.read))
    expect(results.length).toBeGreaterThan(5)
    for (const { found, expected } of results) expect(found).toEqual(expected)
    expect(results.every(({ passed }) => passed)).toBe(true)
    expect(updateCases(text, results)).toBe(text)
  })
})
