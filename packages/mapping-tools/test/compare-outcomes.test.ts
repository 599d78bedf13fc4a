import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openExport } from '../../../src/extract/open-export.ts'
import { readDefinition } from '../../../src/extract/read-definition.ts'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { csvMapper, load } from '../../../test/transform/mapping-under-test.ts'
import {
  createComparison,
  type Difference,
  type Reading,
  type RowPair,
  rowPairs,
} from '../src/compare-outcomes.ts'
import { SMALL } from './cases-under-test.ts'

function compare(
  before: string,
  after: string,
  rows: readonly Record<string, string>[],
  limit = 10,
): Difference {
  const columns = [before, after].flatMap((mapping) => load(mapping).compiled.reads.map(({ name }) => name))
  const [old, now] = [csvMapper(before, columns), csvMapper(after, columns)]
  const comparison = createComparison(limit)
  for (const row of rows) comparison.add(old(row), now(row))
  return comparison.result()
}

const ROW = { id: 'P', day: '2026-01-02', pulse: '60', weight: '80', weighed: '2026-01-01' }
const change = (found: string | RegExp, instead: string): string => {
  const changed = SMALL.replace(found, instead)
  expect(changed).not.toBe(SMALL)
  return changed
}

describe('two mappings over the same rows', () => {
  it('that are the same differ in nothing', () => {
    const { rows, outcomes, rules, examples } = compare(SMALL, SMALL, [ROW, { gone: 'Y' }, {}])
    expect({ rows, outcomes, rules, examples }).toEqual({
      rows: { read: 3, different: 0 },
      outcomes: [],
      rules: {},
      examples: [],
    })
  })

  it('show what changed of a record, field by field', () => {
    const { rows, rules, examples } = compare(SMALL, change('from: weight,', 'from: weight, unit: lb,'), [
      ROW,
      { ...ROW, weight: '' },
    ])
    expect(rows).toEqual({ read: 2, different: 1 })
    expect(rules).toEqual({ 'body-weight': { added: 0, removed: 0, changed: 1, reason: 0 } })
    expect(examples).toEqual([
      { row: 7, line: 9, rule: 'body-weight', change: 'changed', facts: { value: ['80 kg', '36.3 kg'] } },
    ])
  })

  it('count a record that comes as added, one that goes as removed, and another reason as such', () => {
    const stricter = change('heart-rate: pulse', 'heart-rate: { from: pulse, extract: "^6.$" }')
    const rows = [ROW, { ...ROW, pulse: '70' }, { ...ROW, pulse: 'x' }]
    expect(compare(SMALL, stricter, rows).rules).toEqual({
      'heart-rate': { added: 0, removed: 1, changed: 0, reason: 1 },
    })
    expect(compare(stricter, SMALL, rows).rules).toEqual({
      'heart-rate': { added: 1, removed: 0, changed: 0, reason: 1 },
    })
    expect(compare(SMALL, stricter, rows).examples[1]?.facts).toEqual({
      rejected: ['value-not-a-number', 'value-not-extracted'],
    })
  })

  it('see a key, a mark and registration data, though no other field changes', () => {
    expect(compare(SMALL, change('key: [id]', 'key: [id, day]'), [ROW]).examples[0]?.facts).toEqual({
      key: ['P', 'P|2026-01-02'],
    })
    const team = (primary: boolean): string =>
      `${SMALL}careTeams:\n  pcp: { npi: { constant: "1234567893" }, name: id, type: PCP, primary: ${primary} }\n`
    expect(compare(team(false), team(true), [ROW]).examples[0]?.facts).toEqual({ primary: [null, 'true'] })
    const register = (name: string): string =>
      SMALL.replace(
        'reference: id }',
        `reference: id, register: { firstName: ${name}, lastName: id, dateOfBirth: { from: day, format: yyyy-MM-dd }, gender: id, postalCode: id } }`,
      )
    expect(compare(register('id'), register('{ concat: [id, id] }'), [ROW])).toMatchObject({
      rules: { register: { changed: 1 } },
      examples: [{ facts: { firstName: ['P', 'PP'] } }],
    })
  })

  it('count rows whose outcome changes, and tell it once for a row', () => {
    const { rows, outcomes, rules, examples } = compare(SMALL, change('gone: Y', 'gone: N'), [
      { ...ROW, gone: 'N' },
      { ...ROW, gone: 'N' },
      { ...ROW, gone: 'Y' },
    ])
    expect(rows.different).toBe(3)
    expect(outcomes).toEqual([
      { before: 'mapped', after: 'skipped skipWhen', rows: 2 },
      { before: 'skipped skipWhen', after: 'mapped', rows: 1 },
    ])
    expect(rules['heart-rate']).toEqual({ added: 1, removed: 2, changed: 0, reason: 0 })
    expect(examples.map((one) => one.change)).toEqual(['outcome', 'outcome', 'outcome'])
  })

  it('keep as many examples as asked for, however many rows differ', () => {
    const rows = Array.from({ length: 50 }, () => ROW)
    const { examples, rules } = compare(SMALL, change('type: screening', 'type: visit'), rows, 3)
    expect(examples).toHaveLength(3)
    expect(rules['heart-rate']?.changed).toBe(50)
  })
})

async function pairs(content: Buffer, before: object, after: object): Promise<RowPair[]> {
  const folder = await temporaryFolder()
  const path = join(folder, 'export.csv')
  await writeFile(path, content)
  const reading = async (definition: object): Promise<Reading> => {
    const read = readDefinition.parse({ format: 'csv', ...definition })
    return { read, opened: await openExport(path, read) }
  }
  const found: RowPair[] = []
  for await (const block of rowPairs(await reading(before), await reading(after))) found.push(...block)
  return found
}

const lines = (found: readonly RowPair[]): (number | undefined)[][] =>
  found.map((pair) => pair.map((row) => row?.line))

const cells = (pair: RowPair | undefined): unknown =>
  pair?.map((row) => (row?.kind === 'cells' ? row.cells.join() : row?.kind))

describe('rows side by side', () => {
  it('mappings that read alike see each row once', async () => {
    const found = await pairs(Buffer.from('a,b\n1,2\n3,4\n'), {}, {})
    expect(lines(found)).toEqual([
      [2, 2],
      [3, 3],
    ])
    expect(found.every(([one, other]) => one === other)).toBe(true)
  })

  it('rows that begin on the same line are paired, and others stand alone', async () => {
    const text = 'a,b\nunits,x\n1,2\n# remark,\n3,4\nTRL,2\n'
    const found = await pairs(
      Buffer.from(text),
      {},
      { header: { skip: 1 }, comment: '#', trailer: { match: '^TRL' } },
    )
    expect(lines(found)).toEqual([
      [2, undefined],
      [3, 3],
      [4, undefined],
      [5, 5],
      [6, undefined],
    ])
  })

  it('a file that is decoded differently is paired by line', async () => {
    const latin = Buffer.from('a\nJos\xe9\nZo\xeb\nx\n', 'latin1')
    const found = await pairs(latin, { encoding: 'windows-1252' }, { encoding: 'utf-8' })
    expect(lines(found)).toEqual([
      [2, 2],
      [3, 3],
      [4, 4],
    ])
    expect(found.map(cells)).toEqual([
      ['José', 'unreadable'],
      ['Zoë', 'unreadable'],
      ['x', 'x'],
    ])
  })
})
