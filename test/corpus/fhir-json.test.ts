import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { allRows, brief, exportFile, numberSource, rowsOf } from '../extract/export-file.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { corpusPath, WITHOUT_CORPUS } from './corpus-file.ts'

const DOCUMENT = readDefinition.parse({ format: 'json' })
const NDJSON = readDefinition.parse({ format: 'ndjson' })
const BUNDLE = readDefinition.parse({ format: 'json', records: '$.entry[*].resource' })

const Resource = z.looseObject({
  resourceType: z.string(),
  entry: z.array(z.looseObject({ resource: z.unknown().optional() })).optional(),
})

const files = (pattern: string): string[] => (WITHOUT_CORPUS ? [] : globSync(corpusPath(pattern)).sort())
const parsed = (text: string): unknown => JSON.parse(text, numberSource)

describe('FHIR R4', NEEDS_CORPUS, () => {
  test('every example is one document', async () => {
    const examples = files('fhir-r4/*/*.json')
    expect(examples.length).toBeGreaterThan(100)
    for (const file of examples)
      expect((await allRows(file, DOCUMENT)).map(brief), file).toEqual([parsed(readFileSync(file, 'utf8'))])
  })

  test('the resources of a Bundle are its rows; an entry without one is counted', async () => {
    let bundles = 0
    for (const file of files('fhir-r4/*/*.json')) {
      const { resourceType, entry } = Resource.parse(parsed(readFileSync(file, 'utf8')))
      if (resourceType !== 'Bundle' || entry === undefined) continue
      bundles += 1
      const rows = (await allRows(file, BUNDLE)).map(brief)
      expect(rows, file).toEqual(entry.map(({ resource }) => resource ?? 'row-member-missing'))
    }
    expect(bundles).toBeGreaterThan(10)
  })

  test('Synthea: bulk NDJSON, every row; and the same as one Bundle, read from anywhere', async () => {
    const exports = files('synthea/ndjson-*/*.ndjson')
    expect(exports.length).toBeGreaterThan(10)
    for (const file of exports) {
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
      const expected = lines.map(parsed)
      expect((await allRows(file, NDJSON)).map(brief), file).toEqual(expected)
      const bundle = `{"resourceType":"Bundle","entry":[${lines.map((line) => `{"resource":${line}}`).join(',\n')}]}`
      expect((await rowsOf(bundle, BUNDLE)).map(brief), file).toEqual(expected)
    }
    const observations = readFileSync(corpusPath('synthea/ndjson-split-smart-r4/Observation.ndjson'), 'utf8')
    const path = await exportFile(
      `{"entry":[{"resource":${observations.trim().replaceAll('\n', '},{"resource":')}}]}`,
    )
    const rows = await allRows(path, BUNDLE)
    expect(rows).toHaveLength(2_655)
    for (const at of [1, 256, 257, 2_000, 2_654])
      expect(await allRows(path, BUNDLE, rows[at])).toEqual(rows.slice(at))
  })
})
