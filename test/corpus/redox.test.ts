/** Redox's own sample messages through the shipped mapping: whom they are of, which orders and results are found. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openExport } from '../../src/extract/open-export.ts'
import type { RowOutcome } from '../../src/model/entry.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { load, mapped, ROOT } from '../transform/mapping-under-test.ts'
import { corpusPath, WITHOUT_CORPUS } from './corpus-file.ts'

const text = readFileSync(join(ROOT, 'mappings/redox-results.yaml'), 'utf8').replace('ndjson', 'json')

/** @param codes a table of the laboratory's codes */
async function outcomeOf(file: string, codes = 'code,key\n'): Promise<RowOutcome> {
  const { compiled, read } = load(text, { 'hl7-lab-codes': codes })
  const map = compiled.bind(undefined, file, Number.POSITIVE_INFINITY)
  for await (const [row] of (await openExport(file, read)).rows()) if (row !== undefined) return map(row)
  return expect.fail(file)
}

const Message = z.looseObject({
  Patient: z.object({
    Identifiers: z.array(z.object({ ID: z.string(), IDType: z.string() })),
    Demographics: z.looseObject({ FirstName: z.string(), LastName: z.string(), DOB: z.string() }),
  }),
  Orders: z.array(
    z.looseObject({
      ID: z.string().nullable(),
      CollectionDateTime: z.string(),
      Results: z.array(z.looseObject({ Code: z.string(), Value: z.string() })),
    }),
  ),
})
const files = (pattern: string): string[] =>
  WITHOUT_CORPUS ? [] : globSync(corpusPath('redox/java-data-model', pattern)).sort()

describe('Redox Results', NEEDS_CORPUS, () => {
  test('the person is the medical record number, and every result is told', async () => {
    const found = files('results/new*/*.json')
    expect(found.length).toBe(6)
    for (const file of found) {
      const { Patient, Orders } = Message.parse(JSON.parse(readFileSync(file, 'utf8')))
      const number = Patient.Identifiers.find(({ IDType }) => IDType === 'MR')?.ID ?? ''
      const results = Orders.flatMap((order) => order.Results)
      const row = mapped(await outcomeOf(file))
      expect(row.account.reference).toBe(number)
      expect(row.key).toBe(`${number}|${Orders[0]?.ID ?? ''}`)
      expect(row.register()).toMatchObject({
        ok: true,
        registration: { firstName: Patient.Demographics.FirstName, dateOfBirth: Patient.Demographics.DOB },
      })
      // They are texts of a laboratory that no table knows.
      expect(row.records).toEqual([])
      expect(row.rejected.map(({ issue }) => issue.code)).toEqual(results.map(() => 'code-unknown'))
    }
  })

  test('with a table of its codes each result is told by name, and has no unit', async () => {
    for (const file of files('results/new*/*.json')) {
      const row = mapped(await outcomeOf(file, 'code,key\nTEST0001,glucose\nTEST0004,hba1c\n'))
      expect(
        row.rejected.map(({ rule, issue }) => `${rule} ${issue.code}`),
        file,
      ).toEqual(['glucose-1 unit-unknown', 'hba1c-1 unit-unknown'])
    }
  })

  test('a response to a query names its patients elsewhere, and is rejected', async () => {
    for (const file of files('results/queryResponse/*.json'))
      expect(await outcomeOf(file)).toMatchObject({ outcome: 'rejected', issue: { code: 'account-missing' } })
  })
})
